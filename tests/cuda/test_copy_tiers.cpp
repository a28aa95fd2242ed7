#include "support/catch.hpp"

#include "cuda/copy/cuda_device_buffer.hpp"
#include "cuda/copy_fake.hpp"
#include "tier/tier_fixture.hpp"

using namespace breakeven;
using namespace breakeven::cuda;
using Catch::Matchers::Contains;
using tier::mib;

namespace {

CudaDevice device() {
  CudaDevice device;
  device.id = "cuda:0";
  device.multiprocessors = 4;
  return device;
}

} // namespace

TEST_CASE("the memory tier loads into a GPU's buffer, in every shape and way") {
  CopyFake fake;
  {
    CudaDeviceBuffer buffer(device(), 8 * mib, 0);
    const auto memory =
        tier::create(tier::parse_tier_spec("memory"), tier::small_options(8 * mib), buffer);
    memory->prepare();
    CHECK_THAT(memory->identity().at("copy"), Contains("pinned host memory (cudaHostRegister): "));
    CHECK(memory->store_Bps() > 0);
    // Node 0 exists everywhere; where the system does not let it be bound, that is said.
    CHECK(
        (memory->identity().at("numa_node") == "0 (the device's)" || !memory->warnings().empty()));
    for (const std::string& variant : copy_variants().names()) {
      buffer.use(variant);
      for (const tier::LoadShape& shape :
           {tier::LoadShape{8 * mib, 1, 1}, {8 * mib, 2048, 1}, {mib, 3, 8}, {4097, 5, 2}}) {
        const auto load = memory->load(shape);
        for (int run = 0; run < 3; ++run)
          CHECK(load->run().seconds > 0);
      }
    }
    CHECK(fake.violations == 0);
  }
  CHECK(fake.cuda.alive() == 0);
}

TEST_CASE("the file tier ends in a GPU's buffer: file, pinned ring, device") {
  CopyFake fake;
  const tier::TestDirectory directory;
  {
    CudaDeviceBuffer buffer(device(), 8 * mib);
    const auto file =
        tier::create(tier::parse_tier_spec(directory.spec()), tier::small_options(8 * mib), buffer);
    file->prepare();
    CAPTURE(tier::joined(file->warnings()));
    REQUIRE(file->disqualified().empty());
    for (const tier::LoadShape& shape :
         {tier::LoadShape{8 * mib, 8, 1}, {8 * mib, 512, 1}, {mib, 3, 8}, {mib + 1, 5, 2}}) {
      const auto load = file->load(shape);
      for (int run = 0; run < 3; ++run)
        CHECK(load->run().seconds > 0);
      if (const auto ideal = file->ideal_load(shape)) CHECK(ideal->run().seconds > 0);
    }
    CHECK(fake.violations == 0);
  }
  CHECK(fake.cuda.alive() == 0);
}

TEST_CASE("a tier whose pool cannot be pinned says that it was copied as pageable memory") {
  CopyFake fake;
  fake.cuda.fail_always("host_register", cudaErrorMemoryAllocation);
  CudaDeviceBuffer buffer(device(), 8 * mib);
  const auto memory =
      tier::create(tier::parse_tier_spec("memory"), tier::small_options(8 * mib), buffer);
  memory->prepare();
  CHECK(memory->identity().at("copy") == "pageable host memory (cudaMemcpyAsync)");
  CHECK(memory->load({4 * mib, 100, 2})->run().seconds > 0);
}
