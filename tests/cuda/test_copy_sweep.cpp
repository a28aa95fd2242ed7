#include "support/catch.hpp"

#include "cuda/copy/sweep.hpp"
#include "cuda/copy_fake.hpp"
#include "support/error.hpp"

#include <cstring>

using namespace breakeven;
using namespace breakeven::cuda;

namespace {

constexpr std::uint64_t mib = 1u << 20;

CudaDevice device(int ordinal) {
  CudaDevice device;
  device.ordinal = ordinal;
  device.id = "cuda:" + std::to_string(ordinal);
  device.multiprocessors = 4;
  return device;
}

/// Pinned for a buffer while it lives.
class Pinned {
public:
  Pinned(CudaDeviceBuffer& buffer, std::uint64_t bytes) : m_buffer(buffer), m_bytes(bytes) {
    m_data = static_cast<std::byte*>(std::aligned_alloc(4096, bytes));
    std::memset(m_data, 7, bytes);
    m_buffer.pin_host(m_data, bytes);
  }
  ~Pinned() {
    m_buffer.unpin_host(m_data);
    std::free(m_data);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  std::span<std::byte> all() const { return {m_data, m_bytes}; }

private:
  CudaDeviceBuffer& m_buffer;
  std::uint64_t m_bytes;
  std::byte* m_data = nullptr;
};

} // namespace

TEST_CASE("copies are timed by both clocks, in flight and both ways") {
  CopyFake fake;
  {
    CudaDeviceBuffer buffer(device(0), 4 * mib);
    const Pinned source(buffer, 4 * mib);
    for (const CopyShape& shape : {CopyShape{65536, 4, 1, false}, CopyShape{4096, 32, 8, false},
                                   CopyShape{1024, 512, 4, true}}) {
      const CopyTime time = time_copies(buffer, source.all(), shape, 3);
      CHECK(time.wall_s > 0);
      CHECK(time.device_s == Approx(1e-3)); // the fake's clock
    }
    CHECK(std::memcmp(buffer.device_address(), source.all().data(), mib) == 0);
    CHECK_THROWS_AS(time_copies(buffer, source.all(), {mib, 3, 1, true}, 1), error);
    CHECK_THROWS_AS(time_copies(buffer, source.all(), {mib, 0, 1, false}, 1), error);
  }
  CHECK(fake.cuda.alive() == 0);
}

TEST_CASE("the sweep covers every variant that can be used") {
  CopyFake fake;
  CudaDeviceBuffer buffer(device(0), 4 * mib);
  const Pinned source(buffer, 4 * mib);
  const std::vector<CopyTime> times = sweep_copies(buffer, source.all(), 1);
  for (const std::string& name : copy_variants().names()) {
    std::size_t points = 0;
    for (const CopyTime& time : times)
      points += time.variant == name ? 1 : 0;
    // Pieces of 1, 4, 16, 64, 256 KiB, 1 and 4 MiB, 1, 8, 64 and 512 of them up to 4 MiB.
    CHECK(points == 4 + 4 + 3 + 3 + 2 + 1 + 1);
  }
  CHECK(fake.violations == 0);
}

TEST_CASE("GPUs that share a link are timed alone and together") {
  CopyFake fake;
  fake.cuda.device_count = 2;
  {
    CudaDeviceBuffer one(device(0), 2 * mib), other(device(1), 2 * mib);
    const Pinned first(one, mib), second(other, 2 * mib);
    const LinkUser users[] = {{&one, first.all()}, {&other, second.all()}};
    const std::vector<LinkShare> shares = share_link(users, 3);
    REQUIRE(shares.size() == 2);
    CHECK(shares[0].alone_Bps == Approx(4 * mib / 1e-3));
    CHECK(shares[1].together_Bps == Approx(8 * mib / 1e-3));
  }
  CHECK(fake.cuda.alive() == 0);
}
