#pragma once

#include "measure/statistics.hpp"
#include "measure/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace breakeven::measure {

enum class StopReason {
  converged,  ///< the interval of the median is within the target
  sample_cap, ///< max_samples reached first
  time_cap,   ///< the workload's or the run's time ran out first
  interrupted ///< a stop was requested
};
const char* to_string(StopReason reason); ///< "converged", "sample_cap", ...

struct SamplerOptions {
  double target_relative_half_width = 0.02;
  double confidence = 0.95;
  std::size_t min_samples = 5;
  std::size_t max_samples = 200;
  double max_seconds_each = 1e9;  ///< cap on the time one workload may take, warm-up included
  double max_seconds_total = 1e9; ///< cap on the whole call
  std::size_t max_warmup_runs = 10;
  double warmup_tolerance = 0.05; ///< stable when two runs in a row differ by less than this
  std::uint64_t seed = 1;
};

/// All samples of one workload; seconds already multiplied by its scale.
struct Series {
  std::string name;
  std::vector<double> seconds; ///< in the order taken
  std::size_t warmup_runs = 0;
  std::size_t discarded_throttled = 0;
  StopReason stopped = StopReason::time_cap;
  [[nodiscard]] MedianInterval summary(double confidence = 0.95) const {
    return median_interval(seconds, confidence);
  }
};

/// Called after every run with the fraction of the total time cap that is spent.
using Progress = std::function<void(const std::string& name, double seconds_spent)>;

/// Samples all workloads, interleaved in random order, until each has its own reason to stop.
/// Every workload gets at least one sample, whatever the caps; min_samples unless a cap forbids.
/// Returns one Series per workload, in the order given. Throws what Workload::run throws.
std::vector<Series> sample_interleaved(std::span<Workload* const> workloads,
                                       const SamplerOptions& options, std::stop_token stop = {},
                                       const Progress& progress = {});

} // namespace breakeven::measure
