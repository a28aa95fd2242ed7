#pragma once

#include "measure/stopping_criterion.hpp"

namespace breakeven::measure {

/// Stops at a number of samples. Discarded runs have a cap of the same size of their own, so that
/// a device that is always throttled does not keep the run going for ever.
class StopAtSampleCap final : public StoppingCriterion {
public:
  explicit StopAtSampleCap(std::size_t max_samples) : m_max_samples(max_samples) {}

  [[nodiscard]] std::optional<StopReason> check(const SamplingState& state) const override {
    if (state.seconds.size() >= m_max_samples || state.discarded >= m_max_samples)
      return StopReason::sample_cap;
    return std::nullopt;
  }

private:
  std::size_t m_max_samples;
};

} // namespace breakeven::measure
