#include "support/catch.hpp"

#include "machine.hpp"

using namespace breakeven;
using namespace breakeven::doctor;
using breakeven::test::Machine;
using Catch::Matchers::Contains;

namespace {

GpuFacts healthy() {
  GpuFacts gpu;
  gpu.name = "Test GPU";
  gpu.persistence = true;
  gpu.mig = false;
  gpu.power_limit_mW = gpu.power_default_mW = 700000;
  gpu.link_generation = gpu.link_generation_max = 5;
  gpu.link_width = gpu.link_width_max = 16;
  gpu.throttle_reasons = 1; // idle
  gpu.busy_percent = gpu.processes = 0;
  return gpu;
}

} // namespace

TEST_CASE("without a driver: a note, a warning beside an NVIDIA GPU, missing when asked for") {
  Machine machine;
  CHECK(machine.find("NVIDIA driver").state == State::note);
  machine.root.write("/sys/bus/pci/devices/0000:81:00.0/class", "0x030200\n");
  machine.root.write("/sys/bus/pci/devices/0000:81:00.0/vendor", "0x10de\n");
  machine.root.write("/sys/bus/pci/devices/0000:81:00.0/device", "0x2330\n");
  CHECK(machine.find("NVIDIA driver").state == State::warning);
  machine.device = "cuda";
  CHECK(machine.find("NVIDIA driver").state == State::missing);
  machine.device = "cpu";
  CHECK(machine.find("NVIDIA driver").name.empty());
}

TEST_CASE("a healthy GPU is all ok") {
  Machine machine;
  machine.gpus = {"", "550.1", {healthy()}};
  machine.device = "cuda:0";
  int rows = 0;
  for (const Finding& finding : machine.findings()) {
    if (finding.name.find("Test GPU") == std::string::npos) continue;
    INFO(finding.name << ": " << finding.found);
    CHECK(finding.state == State::ok);
    ++rows;
  }
  CHECK(rows == 6);
}

TEST_CASE("what holds a GPU back is named") {
  Machine machine;
  GpuFacts gpu = healthy();
  gpu.persistence = false;
  gpu.power_limit_mW = 350000;
  gpu.mig = true;
  gpu.link_width = 8;
  gpu.throttle_reasons = 0x4 | 0x20;
  gpu.processes = 2;
  machine.gpus = {"", "550.1", {gpu}};
  CHECK_THAT(machine.find("persistence").fix, Contains("nvidia-smi -i 0 -pm 1"));
  CHECK_THAT(machine.find("power limit").found, Contains("350 W, default 700 W"));
  CHECK(machine.find("MIG").state == State::note);
  CHECK(machine.find("PCIe link of").state == State::warning);
  CHECK_THAT(machine.find("clocks of").found, Contains("power limit") && Contains("temperature"));
  CHECK(machine.find("users").state == State::warning);
}

TEST_CASE("facts that the driver does not give are no findings") {
  Machine machine;
  machine.gpus = {"", "550.1", {GpuFacts{}}};
  CHECK(machine.find("NVIDIA driver").state == State::ok);
  CHECK(machine.find("persistence").name.empty());
  CHECK(machine.find("clocks of").name.empty());
}

TEST_CASE("a GPU that is asked for and not there is missing; others are left out") {
  Machine machine;
  machine.gpus = {"", "550.1", {healthy(), healthy()}};
  machine.device = "cuda:1";
  CHECK_FALSE(anything_missing(machine.findings()));
  CHECK(machine.find("persistence of cuda:0").name.empty());
  CHECK_FALSE(machine.find("persistence of cuda:1").name.empty());
  machine.device = "cuda:2";
  CHECK(machine.find("cuda:2").state == State::missing);
}
