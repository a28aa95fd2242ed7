#pragma once

#include <string>

namespace breakeven::calibrate {

/// CPU time of this machine since some moment, in seconds: all of it, what was not idle, what a
/// hypervisor took for others, and what this process used.
struct CpuTimes {
  double all_s = 0, busy_s = 0, stolen_s = 0, own_s = 0;
};

/// Parses the first line of /proc/stat (proc(5)), in ticks; all 0 when it is none.
CpuTimes parse_cpu_times(const std::string& stat, double ticks_per_s);

/// Now, from /proc/stat and getrusage; all 0 where that cannot be read.
CpuTimes cpu_times();

/// Empty, or a sentence: that others had more than a tenth of the CPUs between two moments.
std::string other_load(const CpuTimes& before, const CpuTimes& after);

} // namespace breakeven::calibrate
