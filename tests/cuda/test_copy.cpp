#include "support/catch.hpp"

#include "cuda/copy/cuda_device_buffer.hpp"
#include "cuda/copy_fake.hpp"
#include "support/error.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

using namespace breakeven;
using namespace breakeven::cuda;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t mib = 1u << 20;

CudaDevice device() {
  CudaDevice device;
  device.id = "cuda:0";
  device.multiprocessors = 4;
  return device;
}

/// Page-aligned memory with noise in it.
struct Host {
  explicit Host(std::uint64_t size, unsigned seed = 1)
      : bytes(size), data(static_cast<std::byte*>(std::aligned_alloc(4096, size))) {
    std::mt19937_64 random(seed);
    for (std::uint64_t i = 0; i + 8 <= size; i += 8) {
      const std::uint64_t word = random();
      std::memcpy(data + i, &word, 8);
    }
  }
  ~Host() { std::free(data); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  std::uint64_t bytes;
  std::byte* data;
};

/// Pieces of a load in a shuffled order from `offset` on, the last with the remainder.
std::vector<compute::DeviceRun> load(const std::byte* source, std::uint64_t offset,
                                     std::uint64_t bytes, std::uint64_t pieces) {
  std::vector<std::uint64_t> place(pieces);
  std::iota(place.begin(), place.end(), std::uint64_t{0});
  std::shuffle(place.begin(), place.end() - 1, std::mt19937(7));
  const std::uint64_t piece = bytes / pieces;
  std::vector<compute::DeviceRun> runs;
  for (std::uint64_t i = 0; i < pieces; ++i)
    runs.push_back({offset + place[i] * piece, source + i * piece,
                    i + 1 == pieces ? bytes - i * piece : piece});
  return runs;
}

std::uint64_t wrong_bytes(CudaDeviceBuffer& buffer, const std::vector<compute::DeviceRun>& runs) {
  std::uint64_t wrong = 0;
  std::vector<std::byte> copy(buffer.size_bytes());
  buffer.copy_out(0, copy.data(), copy.size());
  for (const compute::DeviceRun& run : runs)
    if (std::memcmp(copy.data() + run.offset, run.source, run.bytes) != 0) wrong += run.bytes;
  return wrong;
}

} // namespace

TEST_CASE("every variant delivers every byte, and leaves nothing behind") {
  CopyFake fake;
  const std::string variant = GENERATE(from_range(copy_variants().names()));
  CAPTURE(variant);
  {
    Host host(20 * mib);
    CudaDeviceBuffer buffer(device(), 48 * mib);
    buffer.use(variant);
    buffer.pin_host(host.data, host.bytes);
    CHECK(buffer.copy_method() == "pinned host memory (cudaHostRegister): " + variant);
    for (const auto& [bytes, pieces] : {std::pair<std::uint64_t, std::uint64_t>{20 * mib, 1},
                                        {20 * mib, 5},
                                        {4 * mib, 1024},
                                        {3 * mib + 5, 700},
                                        {1, 1},
                                        {100, 100},
                                        {18 * mib, 4000}}) {
      CAPTURE(bytes, pieces);
      const auto first = load(host.data, 0, bytes, pieces);
      const auto second = load(host.data + (host.bytes - bytes), 24 * mib, bytes, pieces);
      const std::int64_t kernels = fake.kernels;
      buffer.copy_in_runs(first, 0);
      buffer.copy_in_runs(second, 1); // in flight at once
      buffer.synchronize();
      CHECK(wrong_bytes(buffer, first) == 0);
      CHECK(wrong_bytes(buffer, second) == 0);
      if (variant == "memcpy" || variant == "batch") CHECK(fake.kernels == kernels);
      if (variant != "memcpy" && variant != "batch" && pieces >= 1024)
        CHECK(fake.kernels > kernels);
    }
    // Many batches in a row without a wait: tables and staging are used again only when free.
    std::vector<compute::DeviceRun> all;
    for (std::uint64_t i = 0; i < 20; ++i) {
      const auto runs = load(host.data + (19 - i) * mib, i * 2 * mib, mib, 64);
      buffer.copy_in_runs(runs);
      all.insert(all.end(), runs.begin(), runs.end());
    }
    buffer.synchronize();
    CHECK(wrong_bytes(buffer, all) == 0);
    buffer.unpin_host(host.data);
    CHECK(fake.violations == 0);
  }
  CHECK(fake.cuda.alive() == 0);
}

TEST_CASE("what was fastest is chosen by piece size, and said") {
  CopyFake fake;
  Host host(16 * mib);
  CudaDeviceBuffer buffer(device(), 32 * mib);
  CHECK(buffer.copy_method() == "pageable host memory (cudaMemcpyAsync)");
  CHECK(buffer.choices().empty());
  buffer.pin_host(host.data, host.bytes);
  REQUIRE(buffer.choices().size() == 6);
  for (const CopyChoice& choice : buffer.choices()) {
    CHECK(choice.rates.size() == copy_variants().rows().size());
    double best = 0, chosen = 0;
    for (const CopyChoice::Rate& rate : choice.rates) {
      CHECK(rate.Bps > 0);
      best = std::max(best, rate.Bps);
      if (rate.variant == choice.variant) chosen = rate.Bps;
    }
    CHECK(chosen * 1.2 >= best); // 3 % at each of the variants passed over
  }
  CHECK_THAT(buffer.copy_method(), Contains("pinned host memory (cudaHostRegister): "));
  const auto runs = load(host.data, 0, 16 * mib, 333);
  buffer.copy_in_runs(runs);
  buffer.synchronize();
  CHECK(wrong_bytes(buffer, runs) == 0);
  CHECK_THROWS_WITH(buffer.use("magic"), Contains("known: memcpy batch kernel gather staged"));
  buffer.unpin_host(host.data);
}

TEST_CASE("batches need a new enough toolkit and driver") {
  CopyFake fake;
  const CopyVariant& batch = copy_variants().at("batch");
  CHECK(batch.unavailable_reason(copy_facts()).empty());
  fake.cuda.driver_version = 12040;
  CHECK(batch.unavailable_reason(copy_facts()) ==
        "the driver supports CUDA 12.4, and it needs 12.8");
  CudaDeviceBuffer buffer(device(), 16 * mib);
  CHECK_THROWS_WITH(buffer.use("batch"), Contains("cannot be used on cuda:0: the driver supports"));
  Host host(8 * mib);
  buffer.pin_host(host.data, host.bytes);
  for (const CopyChoice& choice : buffer.choices())
    CHECK(choice.variant != "batch");
  CHECK(fake.cuda.count("memcpy_batch_async") == 0);
  buffer.unpin_host(host.data);
  fake.cuda.driver_version = 13000;
  Calls old = calls();
  old.memcpy_batch_async = nullptr;
  const SubstituteCalls substitute(old);
  CHECK(batch.unavailable_reason(copy_facts()) == "built with a CUDA toolkit older than 12.8");
}

TEST_CASE("refused pins shrink, and what stays pageable is said and copied all the same") {
  CopyFake fake;
  Host host(64 * mib);
  {
    HostPins pins({32 * mib, 4 * mib});
    fake.largest_registration = 8 * mib;
    CHECK(pins.pin(host.data, 64 * mib) == 64 * mib);
    CHECK(pins.part(host.data, 64 * mib).bytes == 8 * mib);
    CHECK(pins.part(host.data + 1, 10).bytes == 10);
    CHECK(pins.part(host.data + 8 * mib - 1, 10).bytes == 1);
    CHECK(fake.cuda.pending() == cudaSuccess);
    pins.unpin(host.data);
    CHECK(fake.cuda.alive() == 0);
    CHECK_FALSE(pins.part(host.data, 10).pinned);
    fake.largest_registration = 2 * mib;
    CHECK(pins.pin(host.data, 64 * mib) == 0);
  }
  CHECK(fake.cuda.alive() == 0);
  fake.largest_registration = 0;
  fake.cuda.fail_always("host_register", cudaErrorMemoryAllocation);
  CudaDeviceBuffer buffer(device(), 64 * mib);
  buffer.pin_host(host.data, host.bytes);
  CHECK(buffer.copy_method() == "pageable host memory (cudaMemcpyAsync)");
  buffer.use("kernel");
  const auto runs = load(host.data, 0, 64 * mib, 3000);
  buffer.copy_in_runs(runs);
  buffer.synchronize();
  CHECK(wrong_bytes(buffer, runs) == 0);
  CHECK(fake.kernels == 0); // kernels cannot read pageable memory
  CHECK(fake.violations == 0);
}

TEST_CASE("memory pinned in part is copied right across the seams") {
  CopyFake fake;
  Host host(48 * mib);
  CudaDeviceBuffer buffer(device(), 48 * mib);
  fake.cuda.fail("host_register", cudaErrorMemoryAllocation, 2);
  buffer.pin_host(host.data, 16 * mib);
  fake.cuda.fail_always("host_register", cudaErrorMemoryAllocation);
  buffer.pin_host(host.data + 16 * mib, 32 * mib);
  CHECK_THAT(buffer.copy_method(), Contains("of which 32.0 MiB could not be pinned"));
  for (const std::string& variant : copy_variants().names()) {
    buffer.use(variant);
    for (const std::uint64_t pieces : {1U, 7U, 5000U}) {
      const auto runs = load(host.data, 0, 48 * mib, pieces);
      buffer.copy_in_runs(runs);
      buffer.synchronize();
      CHECK(wrong_bytes(buffer, runs) == 0);
    }
  }
  CHECK(fake.violations == 0);
  buffer.unpin_host(host.data);
  buffer.unpin_host(host.data + 16 * mib);
}

TEST_CASE("data that a drive put into device memory is scattered within the device") {
  CopyFake fake;
  Host host(2 * mib);
  CudaDeviceBuffer buffer(device(), 8 * mib);
  std::byte* staging = buffer.device_staging(2 * mib);
  REQUIRE(fake.cuda.is_device(staging, 2 * mib));
  CHECK(buffer.device_staging(mib) == staging);
  std::memcpy(staging, host.data, 2 * mib);
  const auto runs = load(staging, mib, 2 * mib, 50);
  buffer.copy_in_runs(runs, 3);
  buffer.synchronize();
  CHECK(wrong_bytes(buffer, runs) == 0);
  CHECK(fake.kernels == 1);
  CHECK(buffer.device_address() != nullptr);
  CHECK(buffer.host_address() == nullptr);
  buffer.attach_thread();
  CHECK(fake.cuda.count("set_device") == 1);
}

TEST_CASE("copies that would leave the buffer are refused") {
  CopyFake fake;
  Host host(mib);
  CudaDeviceBuffer buffer(device(), mib);
  CHECK_THROWS_AS(buffer.copy_in(1, host.data, mib), error);
  CHECK_THROWS_AS(buffer.copy_in(mib + 1, host.data, 0), error);
  CHECK_THROWS_AS(buffer.copy_out(~std::uint64_t{0}, host.data, 2), error);
  buffer.copy_in(mib, host.data, 0);
  buffer.copy_in(0, host.data, mib);
  buffer.synchronize();
}

TEST_CASE("whichever call fails, the result is right or an error, and nothing is left") {
  const cudaError_t code =
      GENERATE(cudaErrorMemoryAllocation, cudaErrorNotSupported, cudaErrorIllegalAddress);
  CAPTURE(code);
  Host host(4 * mib); // too little to measure variants with
  bool ended = false;
  for (std::int64_t nth = 1; !ended && nth < 2000; ++nth) {
    CopyFake fake;
    fake.cuda.fail("*", code, nth);
    bool failed = false;
    std::uint64_t wrong = 0;
    try {
      CudaDeviceBuffer buffer(device(), 8 * mib);
      buffer.pin_host(host.data, host.bytes);
      for (const char* variant : {"", "kernel", "gather", "staged", "batch"}) {
        buffer.use(variant);
        const auto runs = load(host.data, 0, 4 * mib, 8);
        buffer.copy_in_runs(runs);
        buffer.synchronize();
        wrong += wrong_bytes(buffer, runs);
      }
      buffer.unpin_host(host.data);
    } catch (const error& e) {
      failed = true;
      CHECK(e.kind() == error_kind::environment);
      CHECK_THAT(e.what(), Contains("CUDA failed while ") || Contains("cannot be used on cuda:0"));
    }
    CHECK(wrong == 0);
    if (fake.violations != 0) FAIL_CHECK(fake.violations << " violations at call " << nth);
    if (fake.cuda.alive() != 0) FAIL_CHECK(fake.cuda.alive() << " left at call " << nth);
    ended = !failed && fake.cuda.total_calls() < nth;
  }
  CHECK(ended);
}

TEST_CASE("a variant that fails while it is measured is left out") {
  Host host(8 * mib);
  CopyFake fake;
  CudaDeviceBuffer buffer(device(), 8 * mib);
  fake.cuda.fail_always("launch_kernel", cudaErrorLaunchOutOfResources);
  buffer.pin_host(host.data, host.bytes);
  REQUIRE(buffer.choices().size() == 6);
  for (const CopyChoice& choice : buffer.choices())
    for (const CopyChoice::Rate& rate : choice.rates)
      CHECK((rate.variant == "memcpy" || rate.variant == "batch" || choice.piece_bytes == 4 * mib));
  const auto runs = load(host.data, 0, 8 * mib, 100);
  buffer.copy_in_runs(runs);
  buffer.synchronize();
  CHECK(wrong_bytes(buffer, runs) == 0);
  buffer.unpin_host(host.data);
}
