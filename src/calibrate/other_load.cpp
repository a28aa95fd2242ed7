#include "calibrate/other_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

namespace breakeven::calibrate {
namespace {

constexpr double disturbing = 0.10; ///< share of all CPUs

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

} // namespace

CpuTimes parse_cpu_times(const std::string& stat, double ticks_per_s) {
  std::istringstream stream(stat);
  std::string label;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft_irq = 0, steal = 0;
  stream >> label >> user >> nice >> system >> idle >> wait >> irq >> soft_irq >> steal;
  if (!stream || label != "cpu" || !(ticks_per_s > 0)) return {};
  CpuTimes times;
  times.busy_s = (user + nice + system + irq + soft_irq) / ticks_per_s;
  times.stolen_s = steal / ticks_per_s;
  times.all_s = times.busy_s + times.stolen_s + (idle + wait) / ticks_per_s;
  return times;
}

CpuTimes cpu_times() {
  std::ifstream stream("/proc/stat");
  std::string line;
  if (!std::getline(stream, line)) return {};
  CpuTimes times = parse_cpu_times(line, static_cast<double>(::sysconf(_SC_CLK_TCK)));
  rusage own{};
  if (::getrusage(RUSAGE_SELF, &own) == 0)
    times.own_s = seconds(own.ru_utime) + seconds(own.ru_stime);
  return times;
}

std::string other_load(const CpuTimes& before, const CpuTimes& after) {
  const double all_s = after.all_s - before.all_s;
  if (!(before.all_s > 0) || !(all_s > 0)) return "";
  const double busy_s = after.busy_s - before.busy_s, own_s = after.own_s - before.own_s;
  const double others = std::max(0.0, busy_s - own_s) / all_s;
  const double stolen = std::max(0.0, after.stolen_s - before.stolen_s) / all_s;
  if (others + stolen <= disturbing) return "";
  return fmt::format("while this was measured, other processes used {:.0f} % of the CPUs{}: the "
                     "times are those of a busy machine",
                     100 * others,
                     stolen > 0.01 ? fmt::format(" and the hypervisor took {:.0f} %", 100 * stolen)
                                   : "");
}

} // namespace breakeven::calibrate
