#pragma once

#include "breakeven/decide.hpp"

/// Decisions for a waiting queue, and for what to write into a tier.
namespace breakeven {

/// Decides a queue in its order, one request at a time. A tier serves one planned load at a time,
/// so a load delays the loads behind it in the same tier: the decision of each request knows when
/// its tiers are free. Greedy: an early request is never denied for the sake of a later one, which
/// keeps the queue fair and the cost at one decide() per request. load_s counts from now, waiting
/// for the tier included. Give each query the queue_wait that it has anyway.
class Planner {
public:
  explicit Planner(const Policy& policy) noexcept : m_policy(policy) {}
  [[nodiscard]] Decision next(const Query& query) noexcept {
    SplitSearch search(m_policy, query, m_busy_s);
    const Decision decision = search.run();
    if (decision.load) search.book(decision, m_busy_s);
    return decision;
  }

private:
  const Policy& m_policy;
  double m_busy_s[max_tiers] = {};
};

/// The whole queue with a Planner; `decisions` holds `count` entries.
inline void plan(const Policy& policy, const Query* queries, std::size_t count,
                 Decision* decisions) noexcept {
  Planner planner(policy);
  for (std::size_t i = 0; i < count; ++i)
    decisions[i] = planner.next(queries[i]);
}

/// A prefix that was just computed: is it worth writing into a tier?
struct StoreQuery {
  TierId tier;
  Tokens tokens;              ///< length of the prefix
  double expected_reuses = 0; ///< how many later requests will load it
  double in_flight = 1;       ///< loads in that tier when they do
  /// Drive endurance. 0 = no limit. As the budget fills up, a write must be worth more: its cost
  /// counts 1 / (1 - written / budget) times.
  double budget_bytes_per_day = 0;
  double written_bytes_today = 0;
};

struct StoreDecision {
  bool store = false;
  StoreReason reason = StoreReason::no_policy;
  double saving_s = 0; ///< expected_reuses * what one load saves against computing
  double write_s = 0;  ///< time to write the prefix at the tier's measured store rate
  double bytes = 0;    ///< what is written
};

/// Write admission: stores when the expected saving exceeds the (budget-weighted) write time.
/// A pure function; the caller counts the bytes it wrote today.
[[nodiscard]] inline StoreDecision should_store(const Policy& policy,
                                                const StoreQuery& query) noexcept {
  StoreDecision decision;
  if (policy.empty()) return decision;
  const auto in_range = [](double value) { return value >= 0 && value < 1e30; };
  decision.reason = StoreReason::bad_query;
  if (query.tokens.value < 1 || query.tokens.value >= max_tokens ||
      !in_range(query.expected_reuses) || !in_range(query.in_flight) ||
      !in_range(query.budget_bytes_per_day) || !in_range(query.written_bytes_today))
    return decision;
  decision.reason = StoreReason::unknown_tier;
  if (!policy.has(query.tier)) return decision;
  const double store_Bps = policy.cost(query.tier).store_Bps;
  decision.reason = StoreReason::store_not_measured;
  if (!(store_Bps > 0) || policy.cost(query.tier).points == 0) return decision;

  // A later request with this prefix and one token more, as calibration poses it.
  Query reuse(Tokens(query.tokens.value + 1));
  reuse.add(query.tier, query.tokens, query.in_flight);
  const Decision load = decide(policy, reuse);
  decision.bytes = policy.kv_size().token_bytes(static_cast<double>(query.tokens.value)) +
                   policy.kv_size().state_bytes;
  decision.write_s = decision.bytes / store_Bps;
  decision.saving_s = load.load ? query.expected_reuses * load.margin_s : 0;
  double price = 1;
  if (query.budget_bytes_per_day > 0) {
    decision.reason = StoreReason::write_budget_spent;
    if (query.written_bytes_today + decision.bytes > query.budget_bytes_per_day) return decision;
    price = query.budget_bytes_per_day / (query.budget_bytes_per_day - query.written_bytes_today);
  }
  decision.store = decision.saving_s > decision.write_s * price;
  decision.reason = decision.store ? StoreReason::saving_exceeds_write
                    : load.load    ? StoreReason::write_exceeds_saving
                                   : StoreReason::load_never_pays;
  return decision;
}

} // namespace breakeven
