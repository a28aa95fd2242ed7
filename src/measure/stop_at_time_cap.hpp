#pragma once

#include "measure/stopping_criterion.hpp"

#include <functional>
#include <utility>

namespace breakeven::measure {

/// Stops when one more run of this workload would end after the workload's own cap, or after the
/// time that the whole call has left.
class StopAtTimeCap final : public StoppingCriterion {
public:
  StopAtTimeCap(double max_seconds, std::function<double()> total_left_s)
      : m_max_seconds(max_seconds), m_total_left_s(std::move(total_left_s)) {}

  [[nodiscard]] std::optional<StopReason> check(const SamplingState& state) const override {
    if (state.spent_s + state.next_run_s > m_max_seconds || state.next_run_s > m_total_left_s())
      return StopReason::time_cap;
    return std::nullopt;
  }

private:
  double m_max_seconds;
  std::function<double()> m_total_left_s;
};

} // namespace breakeven::measure
