#pragma once

#include "profile/profile.hpp"

#include <string>

namespace breakeven::cli {

/// What a file says of each tier beyond its load model, one indented line each: stores, the gap to
/// its best access, the cost of other layouts, loads while prefill runs. "" when it says nothing.
std::string tier_notes(const profile::BreakEvenFile& file);

} // namespace breakeven::cli
