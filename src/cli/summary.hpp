#pragma once

#include "calibrate/plan.hpp"
#include "profile/profile.hpp"

#include <string>

namespace breakeven::cli {

/// What a break-even file says, for a person: tiers, then prefix length by length.
std::string summary_text(const profile::BreakEvenFile& file);
/// The same for a program, without raw samples.
std::string summary_json(const profile::BreakEvenFile& file);

/// "6,057 tokens (5,900 to 6,210)", "always (from 128 tokens)", "never up to 32,768 tokens", ...
std::string break_even_text(const profile::BreakEven& answer, std::int64_t longest_tokens);

std::string plan_json(const calibrate::Plan& plan);

} // namespace breakeven::cli
