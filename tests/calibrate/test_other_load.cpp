#include "support/catch.hpp"

#include "calibrate/other_load.hpp"

using namespace breakeven::calibrate;

TEST_CASE("CPU times are those of the first line of /proc/stat") {
  const CpuTimes times = parse_cpu_times("cpu  100 20 30 400 50 6 4 10 7 0", 100);
  CHECK(times.busy_s == Approx(1.6));
  CHECK(times.stolen_s == Approx(0.1));
  CHECK(times.all_s == Approx(6.2));
  CHECK(parse_cpu_times("intr 1 2 3", 100).all_s == 0);
  CHECK(parse_cpu_times("", 100).all_s == 0);
  CHECK(cpu_times().all_s > 0);
}

TEST_CASE("a run is disturbed when others had more than a tenth of the CPUs") {
  const CpuTimes before{100, 50, 1, 0};
  CHECK(other_load(before, {120, 65, 1, 15}).empty()); // all of it is our own
  CHECK(other_load(before, {120, 66, 1, 15}).empty()); // 5 %
  const std::string busy = other_load(before, {120, 69, 1, 15});
  CHECK(busy.find("other processes used 20 %") != std::string::npos);
  CHECK(other_load(before, {120, 65, 5, 15}).find("hypervisor took 20 %") != std::string::npos);
  CHECK(other_load({}, {120, 69, 1, 15}).empty()); // unknown
  CHECK(other_load(before, before).empty());
}
