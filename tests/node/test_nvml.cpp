#include "support/catch.hpp"

#include "fake_root.hpp"
#include "node/nvml.hpp"
#include "support/error.hpp"

#include <dlfcn.h>

#include <cstdlib>

using namespace breakeven;
using namespace breakeven::node;

namespace {

const std::string library = BREAKEVEN_FAKE_NVML;

/// What the stand-in does wrong, for one scope.
class Fault {
public:
  explicit Fault(const char* name) { setenv("BREAKEVEN_FAKE_NVML", name, 1); }
  ~Fault() { unsetenv("BREAKEVEN_FAKE_NVML"); }
};

} // namespace

TEST_CASE("a machine without a driver has no NVML, and says so") {
  const Nvml nvml("libnvidia-ml-that-is-not-here.so.1");
  CHECK(nvml.unavailable_reason() == "no driver (libnvidia-ml-that-is-not-here.so.1 not found)");
  CHECK(nvml.gpus().empty());
  CHECK(nvml.driver_version().empty());
  CHECK_FALSE(nvml.find_pci("0000:3b:00.0"));
  CHECK_THROWS_AS(nvml.state(0), error);
  // Whatever this machine has: a reason or a GPU, never neither.
  const Nvml here;
  CHECK(here.unavailable_reason().empty() != here.gpus().empty());
}

TEST_CASE("a library that is something else is refused by name") {
  const Nvml nvml("libm.so.6");
  CHECK(nvml.unavailable_reason() == "libm.so.6 has no nvmlInit_v2: the driver is too old");
}

TEST_CASE("facts of GPUs come in SI units, and what one does not tell stays unknown") {
  fake::FakeRoot root;
  root.write("/sys/bus/pci/devices/0000:3b:00.0/numa_node", "1\n");
  root.write("/sys/bus/pci/devices/0001:af:00.0/numa_node", "-1\n");
  const Nvml nvml(library, root.path());
  REQUIRE(nvml.unavailable_reason().empty());
  CHECK(nvml.driver_version() == "580.65.06");
  CHECK(nvml.cuda_version() == "13.0");
  REQUIRE(nvml.gpus().size() == 2);
  const GpuFacts& full = nvml.gpus()[0];
  CHECK(full.name == "Fake H200");
  CHECK(full.uuid == "GPU-5c89852c-1111-2222-3333-444455556666");
  CHECK(full.pci_bus_id == "0000:3b:00.0");
  CHECK(full.memory_bytes == 150754820096ULL);
  CHECK(full.power_limit_W == Approx(700));
  CHECK(full.max_sm_clock_Hz == Approx(1.98e9));
  CHECK(full.max_memory_clock_Hz == Approx(3.201e9));
  CHECK(full.max_pcie_generation == 5);
  CHECK(full.max_pcie_width == 16);
  CHECK(full.ecc == std::optional<bool>(true));
  CHECK(full.mig == std::optional<bool>(false));
  CHECK(full.persistence == std::optional<bool>(true));
  CHECK(full.numa_node == std::optional<int>(1));
  const GpuFacts& small = nvml.gpus()[1];
  CHECK_FALSE(small.ecc);
  CHECK_FALSE(small.mig);
  CHECK_FALSE(small.numa_node);
  CHECK(nvml.find_pci("0001:AF:00.0") == std::optional<std::size_t>(1));
  CHECK(nvml.find_pci("3b:00.0") == std::optional<std::size_t>(0));
  CHECK_FALSE(nvml.find_pci("0000:01:00.0"));
  CHECK_FALSE(nvml.find_pci("cuda:0"));
}

TEST_CASE("a power cap is recorded, heat is throttling") {
  const Nvml nvml(library);
  const GpuState state = nvml.state(0);
  CHECK(state.sm_clock_Hz == Approx(1.83e9));
  CHECK(state.memory_clock_Hz == Approx(3.201e9));
  CHECK(state.power_W == Approx(698.5));
  CHECK(state.temperature_C == Approx(61));
  CHECK(state.pcie_generation == 4);
  CHECK(state.pcie_width == 8);
  CHECK(state.power_capped());
  CHECK_FALSE(state.throttled());
  CHECK(describe_clock_reasons(state.reasons) == "power cap");
  const Fault hot("hot");
  CHECK(nvml.state(0).throttled());
  CHECK(nvml.state(0).power_capped());
  CHECK(describe_clock_reasons(nvml.state(0).reasons) == "power cap, thermal slowdown by hardware");
  CHECK(describe_clock_reasons(0).empty());
  CHECK_THROWS_AS(nvml.state(2), error);
}

TEST_CASE("a driver that is not loaded, no GPU and a lost GPU are told apart") {
  {
    const Fault fault("no driver");
    CHECK(Nvml(library).unavailable_reason() == "NVML does not start: Driver Not Loaded");
  }
  {
    const Fault fault("no gpu");
    CHECK(Nvml(library).unavailable_reason() == "the driver shows no GPU");
  }
  const Nvml nvml(library);
  const Fault fault("lost");
  try {
    static_cast<void>(nvml.state(1));
    FAIL("a lost GPU has a state");
  } catch (const error& e) {
    CHECK(e.kind() == error_kind::environment);
    CHECK(std::string(e.what()) ==
          "the GPU 'Fake L4' at 0001:af:00.0 fell off the bus: GPU is lost");
  }
}

TEST_CASE("the library is shut down as often as it was started") {
  void* fake = dlopen(library.c_str(), RTLD_NOW);
  REQUIRE(fake != nullptr);
  const auto starts = reinterpret_cast<int (*)()>(dlsym(fake, "fake_nvml_starts"));
  {
    const Nvml one(library);
    const Nvml other(library);
    CHECK(starts() == 2);
    const Fault fault("no gpu");
    const Nvml empty(library);
    CHECK(starts() == 3);
  }
  {
    const Fault fault("no driver");
    const Nvml never(library);
  }
  CHECK(starts() == 0);
  dlclose(fake);
}

TEST_CASE("PCI addresses are normal or nothing") {
  CHECK(normal_pci_bus_id("00000000:3B:00.0") == "0000:3b:00.0");
  CHECK(normal_pci_bus_id("0000:3b:00.1") == "0000:3b:00.1");
  CHECK(normal_pci_bus_id("3B:1f.7") == "0000:3b:1f.7");
  CHECK(normal_pci_bus_id("").empty());
  CHECK(normal_pci_bus_id("GPU-5c89852c").empty());
  CHECK(normal_pci_bus_id("0000:3b:00.0/..").empty());
  CHECK(normal_pci_bus_id("0000:3b:00").empty());
}
