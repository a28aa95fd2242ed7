#pragma once

#include "calibrate/plan.hpp"
#include "profile/profile.hpp"

namespace breakeven::calibrate {

/// The parts of the break-even file that say what was measured where, before any measurement.
profile::Node describe_node(const node::NodeFacts& facts);
profile::Model describe_model(const Plan& plan);
profile::Tool describe_tool(const Plan& plan);

} // namespace breakeven::calibrate
