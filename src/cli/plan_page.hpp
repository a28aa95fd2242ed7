#pragma once

#include "predict/capacity.hpp"

#include <optional>
#include <string>

namespace breakeven::cli {

/// A capacity plan as one page, and for programs.
std::string plan_text(const predict::Inputs& inputs, const predict::Load& load,
                      const predict::CapacityPlan& plan,
                      const std::optional<predict::ChatCost>& chat);
std::string plan_json_text(const predict::Inputs& inputs, const predict::Load& load,
                           const predict::CapacityPlan& plan,
                           const std::optional<predict::ChatCost>& chat);

} // namespace breakeven::cli
