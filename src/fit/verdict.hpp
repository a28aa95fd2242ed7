#pragma once

#include "profile/profile.hpp"

#include <cstdint>
#include <vector>

/// Internal to the room.
namespace breakeven::fit {

struct SearchedRange {
  std::int64_t smallest = 0, largest = 0; ///< prefix lengths
  int replicates = 0;                     ///< asked for; those without a bandwidth give no length
};

/// The verdict from the break-even length by the medians and those of the replicates; no_length
/// where loading loses at the largest length.
profile::BreakEven judge(std::int64_t central, std::vector<std::int64_t> lengths,
                         const SearchedRange& range, double confidence);

} // namespace breakeven::fit
