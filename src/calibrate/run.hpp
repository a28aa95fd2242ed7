#pragma once

#include "calibrate/plan.hpp"
#include "calibrate/progress.hpp"
#include "profile/profile.hpp"

#include <exception>
#include <stop_token>

namespace breakeven::calibrate {

/// A stop was requested before the result was complete; nothing was written.
class Interrupted : public std::exception {
public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

/// Measures, fits and solves. Tiers that cannot be measured are rows with a reason, unless the user
/// named them: then their error is thrown. Throws Interrupted, and what the rooms throw.
profile::BreakEvenFile run(const Plan& plan, Progress& progress, std::stop_token stop);

} // namespace breakeven::calibrate
