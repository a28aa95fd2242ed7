#pragma once

#include "measure/stop_reason.hpp"

#include <cstddef>
#include <optional>
#include <span>

namespace breakeven::measure {

/// What a stopping criterion may look at.
struct SamplingState {
  std::span<const double> seconds; ///< good samples so far
  std::size_t discarded = 0;       ///< throttled runs, not among `seconds`
  double spent_s = 0;              ///< wall time of this workload's runs, warm-up included
  double next_run_s = 0;           ///< expected wall time of one more run
};

/// Decides when one workload has been sampled enough, and says why.
class StoppingCriterion {
public:
  virtual ~StoppingCriterion() = default;
  StoppingCriterion() = default;
  StoppingCriterion(const StoppingCriterion&) = delete;
  StoppingCriterion& operator=(const StoppingCriterion&) = delete;
  /// The reason to take no further sample, or nothing to go on.
  [[nodiscard]] virtual std::optional<StopReason> check(const SamplingState& state) const = 0;
};

} // namespace breakeven::measure
