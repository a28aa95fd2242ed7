#pragma once

#include "measure/workload.hpp"
#include "profile/profile.hpp"
#include "tier/tier.hpp"

#include <cstdint>
#include <optional>
#include <stop_token>

namespace breakeven::calibrate {

/// A load and a prefill step that will run at the same time, from two threads.
struct Contenders {
  measure::Workload& load;
  tier::LoadShape shape;
  measure::Workload& step;
  std::int64_t new_tokens = 0;
};

/// Repeats each by itself, then both at once, for about `seconds` in all (each runs twice at least,
/// however long that takes). Loads count when they lie within the time that steps were running.
/// Nothing when a stop was requested or no load ended within the steps. Throws what run() throws.
std::optional<profile::Contention> measure_contention(const Contenders& contenders, double seconds,
                                                      std::stop_token stop);

} // namespace breakeven::calibrate
