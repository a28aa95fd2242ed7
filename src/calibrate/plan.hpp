#pragma once

#include "calibrate/request.hpp"
#include "calibrate/sweep.hpp"
#include "compute/compute.hpp"
#include "model/architecture.hpp"
#include "node/node.hpp"
#include "profile/profile.hpp"
#include "tier/tier.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::calibrate {

struct GridPoint {
  std::int64_t context_tokens = 0, new_tokens = 0;
};

struct TierPlan {
  tier::TierSpec spec;
  bool requested = false; ///< named by the user: failing to prepare it is an error, not a row
  std::uint64_t scratch_bytes = 0;
  std::string unavailable; ///< reason, "" = available
};

/// Everything a run will do, decided before it does anything.
struct Plan {
  Request request; ///< with the defaults resolved
  node::NodeFacts node;
  std::string device;
  model::Architecture architecture;
  std::int64_t max_prefix_tokens = 0; ///< the request's, or less when memory does not hold it
  std::uint64_t kv_buffer_bytes = 0;
  std::uint64_t compute_memory_bytes = 0; ///< what the compute back end may take
  tier::KvLayout layout;
  std::vector<std::int64_t> dense_new;         ///< ascending
  std::vector<std::int64_t> attention_context; ///< ascending, first 0
  std::vector<std::int64_t> attention_new;     ///< ascending
  std::vector<GridPoint> step_checks;
  std::vector<SweepShape> sweep;
  std::vector<LayoutShape> layouts;
  std::vector<std::int64_t> lengths; ///< prefix lengths that the break-even search covers
  std::vector<TierPlan> tiers;
  std::vector<profile::Warning> warnings;
};

/// Resolves the request against this machine. Throws error::usage, ::bad_input (model) or
/// ::environment (device, output, memory).
Plan make_plan(const Request& request);

/// The plan as a person reads it: what is measured, where, how long it takes and what it writes.
std::string describe(const Plan& plan);

} // namespace breakeven::calibrate
