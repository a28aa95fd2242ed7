#include "support/catch.hpp"

#include "measure/workload.hpp"
#include "support/error.hpp"

#include <chrono>
#include <cmath>
#include <string>
#include <thread>

using namespace breakeven;

namespace {

class Probe final : public measure::Workload {
public:
  Probe() : Workload("probe") {}
  std::string order;
  double device_s = -1;
  bool fails = false;
  std::chrono::steady_clock::time_point prepared, verifying;

protected:
  void do_prepare() override {
    order += 'p';
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    prepared = std::chrono::steady_clock::now();
  }
  void do_run() override { order += 'r'; }
  void do_verify() override {
    verifying = std::chrono::steady_clock::now();
    order += 'v';
    if (fails) throw error(error_kind::measurement, "wrong bytes");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  double do_device_seconds() const override { return device_s; }
  bool do_throttled() const override { return true; }
};

} // namespace

TEST_CASE("a run prepares and verifies, and times neither") {
  Probe probe;
  const measure::Observation observation = probe.run();
  CHECK(probe.order == "prv");
  CHECK(observation.seconds >= 0);
  CHECK(observation.seconds <=
        std::chrono::duration<double>(probe.verifying - probe.prepared).count());
  CHECK(observation.throttled);
}

TEST_CASE("the device's clock comes first where there is one") {
  Probe probe;
  probe.device_s = 3.5;
  CHECK(probe.run().seconds == 3.5);
  probe.device_s = 0;
  CHECK(probe.run().seconds == 0);
  probe.device_s = std::nan("");
  CHECK_THROWS_AS(probe.run(), error);
}

TEST_CASE("a failed verification gives no time") {
  Probe probe;
  probe.fails = true;
  CHECK_THROWS_WITH(probe.run(), "wrong bytes");
}
