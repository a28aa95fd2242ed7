#include "cuda/backend.hpp"
#include "cuda/fake_cuda.hpp"
#include "cuda/runtime/check.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/library.hpp"
#include "cuda/runtime/memory.hpp"
#include "cuda/runtime/stream.hpp"
#include "support/catch.hpp"
#include "support/error.hpp"

#include <cstring>
#include <functional>
#include <vector>

using namespace breakeven;
using namespace breakeven::cuda;
using Catch::Contains;

namespace {

std::string message_of(const std::function<void()>& action, error_kind kind) {
  try {
    action();
  } catch (const error& e) {
    CHECK(e.kind() == kind);
    return e.what();
  }
  FAIL("nothing was thrown");
  return {};
}

} // namespace

TEST_CASE("A machine without a driver says so") {
  FakeCuda fake;
  fake.fail_always("get_device_count", cudaErrorInsufficientDriver);
  fake.driver_version = 0;
  CHECK(no_device_reason() == "no driver");
  CHECK(visible_devices().empty());
  CHECK(backend().devices().empty());
  const std::string text =
      message_of([] { static_cast<void>(open_device("cuda:0")); }, error_kind::environment);
  CHECK(text == "device 'cuda:0' cannot be used: no driver");
  CHECK(fake.pending() == cudaSuccess);
}

TEST_CASE("An old driver, no visible GPU and an old GPU are told apart") {
  FakeCuda fake;
  SECTION("old driver") {
    fake.fail_always("get_device_count", cudaErrorInsufficientDriver);
    fake.driver_version = 11040;
    CHECK_THAT(no_device_reason(), Contains("the driver supports CUDA 11.4 but this build needs"));
  }
  SECTION("no GPU") {
    fake.fail_always("get_device_count", cudaErrorNoDevice);
    CHECK_THAT(no_device_reason(), Contains("no GPU is visible to CUDA"));
  }
  SECTION("none counted") {
    fake.device_count = 0;
    CHECK_THAT(no_device_reason(), Contains("no GPU is visible to CUDA"));
  }
  SECTION("old GPU") {
    fake.properties.major = 7;
    fake.properties.minor = 5;
    CHECK_THAT(no_device_reason(), Contains("compute capability 7.5"));
    CHECK(visible_devices().empty());
  }
  SECTION("any other error") {
    fake.fail_always("get_device_count", cudaErrorSystemDriverMismatch);
    CHECK_THAT(no_device_reason(), Contains("cudaErrorSystemDriverMismatch"));
  }
}

TEST_CASE("Devices are found by ordinal and by UUID") {
  FakeCuda fake;
  fake.device_count = 2;
  CHECK(no_device_reason().empty());
  CHECK(find_device("cuda").ordinal == 0);
  const CudaDevice second = find_device("cuda:1");
  CHECK(second.ordinal == 1);
  CHECK(second.sm() == 90);
  CHECK(second.pci_bus_id == "0000:01:00.0");
  CHECK_THAT(second.uuid, Catch::StartsWith("GPU-00000000-"));
  CHECK(find_device("cuda:" + second.uuid).ordinal == 1);
  CHECK_THAT(message_of([] { static_cast<void>(find_device("cuda:2")); }, error_kind::usage),
             Contains("there is no device 'cuda:2'") && Contains("cuda:1 (Fake GPU, GPU-"));
  CHECK_THAT(message_of([] { static_cast<void>(find_device("cuda:GPU-")); }, error_kind::usage),
             Contains("several devices match"));
  std::strncpy(fake.properties.name, "NVIDIA H200 MIG 1g.18gb", sizeof(fake.properties.name) - 1);
  CHECK_THAT(find_device("cuda:0").uuid, Catch::StartsWith("MIG-"));
}

TEST_CASE("A busy GPU is an environment error") {
  FakeCuda fake;
  fake.fail("set_device", cudaErrorDevicesUnavailable);
  CHECK_THAT(message_of([] { static_cast<void>(open_device("cuda:0")); }, error_kind::environment),
             Contains("opening cuda:0") && Contains("another process holds the GPU"));
}

TEST_CASE("Device memory that is refused leaves nothing behind") {
  FakeCuda fake;
  {
    const DeviceMemory first(1 << 20, "a test");
    CHECK(fake.is_device(first.data(), 1 << 20));
    CHECK_FALSE(fake.is_device(first.data(), (1 << 20) + 1));
    fake.fail("malloc", cudaErrorMemoryAllocation);
    CHECK_THAT(message_of([] { const DeviceMemory m(std::uint64_t{1} << 30, "weights"); },
                          error_kind::environment),
               Contains("of device memory for weights") && Contains("out of memory"));
    CHECK(fake.pending() == cudaSuccess);
    DeviceMemory moved;
    moved = DeviceMemory(4096, "another");
    CHECK(fake.alive() == 2);
  }
  CHECK(fake.alive() == 0);
}

TEST_CASE("A refused pin is forgotten, so the next call is not blamed for it") {
  FakeCuda fake;
  std::vector<std::byte> host(4096);
  fake.fail("host_register", cudaErrorMemoryAllocation);
  CHECK(RegisteredMemory::try_register(host.data(), host.size()).empty());
  CHECK(fake.pending() == cudaSuccess);
  fake.fail("host_alloc", cudaErrorMemoryAllocation);
  CHECK(PinnedMemory::try_allocate(4096).empty());
  CHECK(fake.pending() == cudaSuccess);
  {
    const RegisteredMemory pinned = RegisteredMemory::try_register(host.data(), host.size());
    const PinnedMemory own(4096);
    CHECK_FALSE(pinned.empty());
    CHECK(fake.alive() == 2);
  }
  CHECK(fake.alive() == 0);
  fake.fail("host_register", cudaErrorNotSupported);
  CHECK_THAT(message_of([&] { const RegisteredMemory m(host.data(), host.size()); },
                        error_kind::environment),
             Contains("pinning 4.00 KiB of host memory"));
}

TEST_CASE("A sticky error names the fault and what to do, and destructors stay silent") {
  FakeCuda fake;
  {
    const DeviceMemory memory(4096, "a test");
    Stream stream;
    Event event;
    fake.fail("stream_synchronize", cudaErrorIllegalAddress);
    CHECK_THAT(message_of([&] { stream.synchronize(); }, error_kind::environment),
               Contains("cudaErrorIllegalAddress") && Contains("device context is lost"));
    CHECK_THAT(message_of([&] { event.record(stream.get()); }, error_kind::environment),
               Contains("cudaErrorIllegalAddress"));
  }
  CHECK(fake.alive() == 0);
}

TEST_CASE("A library that is not there is named") {
  Library library("cuNothing", {"libcuNothing.so.9"});
  void (*function)() = nullptr;
  CHECK_FALSE(library.get(function, "anything"));
  CHECK_THAT(library.missing(), Contains("libcuNothing.so.9 was not found"));
}

TEST_CASE("Without a driver the real CUDA runtime answers, not crashes") {
  const std::string reason = no_device_reason(); // empty on a machine with a GPU
  CHECK((reason.empty() || visible_devices().empty()));
  CHECK_THAT(describe(cudaErrorMemoryAllocation), Contains("out of memory"));
}
