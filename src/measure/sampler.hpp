#pragma once

#include "measure/statistics.hpp"
#include "measure/stop_reason.hpp"
#include "measure/stopping_criterion.hpp"
#include "measure/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace breakeven::measure {

/// All samples of one workload; seconds already multiplied by its scale.
struct Series {
  std::string name;
  std::vector<double> seconds; ///< in the order taken
  std::size_t warmup_runs = 0;
  std::size_t discarded_throttled = 0;
  /// No run was free of throttling: the samples are throttled runs, for want of better ones.
  bool only_throttled = false;
  StopReason stopped = StopReason::time_cap;
  /// The machine is too noisy for the target: max_samples of this spread would not reach it.
  bool too_noisy = false;
  double noise = 0;      ///< relative_noise() of the samples
  double last_run_s = 0; ///< wall time of the last run, what it sets up and checks included
  double drift = 0; ///< relative_drift() of the samples: not 0 = they went up or down with time
  [[nodiscard]] MedianInterval summary(double confidence = 0.95) const {
    return median_interval(seconds, confidence);
  }
};

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
  /// Weight of each workload, in the order given, when time is short: 4 gets about four times the
  /// samples of 1. Empty = all alike.
  std::vector<double> importance;
  /// Criteria asked before the caps, one set per workload. Empty = StopWhenPrecise with the targets
  /// above.
  std::function<std::vector<std::unique_ptr<StoppingCriterion>>()> criteria;
  /// Series of an earlier call to go on from, one per workload in the order given: their samples
  /// count, and what has samples is neither warmed up nor run again unless there is time for it.
  /// Empty = begin anew.
  std::vector<Series> continued;
  /// Seconds of a monotonic clock that the caps are kept by. Empty = the steady clock.
  std::function<double()> clock;
};

/// Called after every run with the seconds this call has taken so far.
using Progress = std::function<void(const std::string& name, double seconds_spent)>;

/// Samples all workloads, interleaved in random order, until each has its own reason to stop.
/// Every workload without samples gets one, whatever the caps; min_samples unless a cap forbids.
/// Each is first run until two runs in a row agree. When the time left does not suffice for all,
/// it goes where a second buys most: noisy and short workloads first; a long one may have to do
/// with its first run. Returns one Series per workload, in the order given; after a stop request
/// those not reached have no samples. Throws what Workload::run throws, error::usage for options
/// out of range.
std::vector<Series> sample_interleaved(std::span<Workload* const> workloads,
                                       const SamplerOptions& options, std::stop_token stop = {},
                                       const Progress& progress = {});

} // namespace breakeven::measure
