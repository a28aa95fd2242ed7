#pragma once

#include "breakeven/policy.hpp"

namespace breakeven {

/// Applies correction factors to a policy: times scale, thresholds are solved again.
class PolicyCorrector {
public:
  /// `load`: one factor per tier (max_tiers of them); factors must be positive.
  static void apply(Policy& policy, const double* load, double prefill) noexcept {
    policy.m_prefill_correction = prefill;
    for (int i = 0; i < policy.m_tiers; ++i) {
      policy.m_cost[i].correction = load[i];
      if (load[i] == 1 && prefill == 1) continue;
      if (policy.m_verdict[i] == TierVerdict::uncalibrated) continue;
      solve(policy, i);
    }
  }

private:
  /// The shortest length, in blocks, from which loading wins at every length up to the longest
  /// calibrated one; an inconclusive tier keeps its conservative threshold if that is higher.
  static void solve(Policy& policy, int i) noexcept {
    const std::int64_t block = policy.m_block;
    std::int64_t shortest = Policy::never;
    const std::int64_t steps = policy.m_longest / block;
    const std::int64_t stride = steps > 4096 ? steps / 4096 : 1; // bounds the time of huge ranges
    for (std::int64_t k = steps; k >= 1 && wins(policy, i, k * block); k -= stride)
      shortest = k * block;
    if (policy.m_verdict[i] == TierVerdict::inconclusive) {
      if (shortest > policy.m_threshold[i]) policy.m_threshold[i] = shortest;
      return;
    }
    policy.m_threshold[i] = shortest;
    policy.set_verdict(i, shortest == Policy::never ? TierVerdict::never : TierVerdict::at);
  }
  static bool wins(const Policy& policy, int i, std::int64_t tokens) noexcept {
    const TierCost& cost = policy.m_cost[i];
    const auto pieces = static_cast<double>((tokens + cost.chunk_tokens - 1) / cost.chunk_tokens *
                                            cost.pieces_per_chunk);
    const double bytes =
        policy.m_kv.token_bytes(static_cast<double>(tokens)) + policy.m_kv.state_bytes;
    const double load_s =
        cost.correction * (cost.fixed_s + pieces * cost.piece_s + bytes / cost.bandwidth_Bps[0]);
    return load_s < policy.m_prefill_correction * policy.m_curve.saved_s(0, tokens, tokens + 1);
  }
};

} // namespace breakeven
