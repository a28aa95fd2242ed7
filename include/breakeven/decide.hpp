#pragma once

#include "breakeven/policy.hpp"
#include "breakeven/query.hpp"
#include "breakeven/split_search.hpp"

/// The one decision of an engine's connector: load a stored prefix, or compute it again?
namespace breakeven {

/// Finds the prefix length to load that costs the request least, counted in blocks: all of the hit,
/// a part of it (it may stop before a slow segment), or nothing. A pure function of its arguments:
/// every tensor-parallel rank gets the same answer from the same policy and query.
///
/// Cost of loading up to L: max(0, load_s(L) - queue_wait) +
/// (1 + compute_price) * (1 - margin) * prefill_s(L, prompt - L). Each used segment is one load
/// call: it pays its tier's fixed cost, and the calls run one after another.
[[nodiscard]] inline Decision decide(const Policy& policy, const Query& query) noexcept {
  return SplitSearch(policy, query).run();
}

} // namespace breakeven
