#pragma once

#include "measure/statistics.hpp"
#include "measure/stopping_criterion.hpp"

namespace breakeven::measure {

/// Stops when the interval of the median is narrow enough. Needs as many samples as `confidence`
/// needs (6 for 95 %), even where min_samples is smaller.
class StopWhenPrecise final : public StoppingCriterion {
public:
  StopWhenPrecise(double target_relative_half_width, double confidence, std::size_t min_samples)
      : m_target(target_relative_half_width), m_confidence(confidence), m_min_samples(min_samples) {
  }

  [[nodiscard]] std::optional<StopReason> check(const SamplingState& state) const override {
    if (state.seconds.size() < m_min_samples) return std::nullopt;
    const MedianInterval interval = median_interval(state.seconds, m_confidence);
    if (interval.exact && interval.relative_half_width() <= m_target) return StopReason::converged;
    return std::nullopt;
  }

private:
  double m_target;
  double m_confidence;
  std::size_t m_min_samples;
};

} // namespace breakeven::measure
