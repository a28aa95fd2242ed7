#pragma once

#include "breakeven/step_curve.hpp"
#include "breakeven/types.hpp"

#include <limits>

namespace breakeven {

/// How long a load from one tier takes: fixed_s + pieces * piece_s + bytes / bandwidth(in_flight).
struct TierCost {
  double fixed_s = 0, piece_s = 0;
  std::int64_t chunk_tokens = 1, pieces_per_chunk = 1;
  double inverse_chunk = 1,
         byte_s = 0;   ///< of chunk_tokens and of bandwidth_Bps[0]: set by PolicyBuilder
  int chunk_shift = 0; ///< chunk_tokens = 1 << shift, or -1
  int points = 0;      ///< 0 = uncalibrated
  double in_flight[max_in_flight_points] = {}, bandwidth_Bps[max_in_flight_points] = {};
  double store_Bps = 0;  ///< 0 = not measured
  double correction = 1; ///< factor on the whole load time, from observe.hpp

  /// Bandwidth of one load while `loads` of them run: linear between measured points; beyond the
  /// last one the total stays what it was there.
  [[nodiscard]] double bandwidth(double loads) const noexcept {
    const int last = points - 1;
    if (last < 0) return 0;
    if (loads <= in_flight[0]) return bandwidth_Bps[0];
    if (loads >= in_flight[last]) return bandwidth_Bps[last] * in_flight[last] / loads;
    int i = 0;
    while (loads >= in_flight[i + 1])
      ++i;
    const double t = (loads - in_flight[i]) / (in_flight[i + 1] - in_flight[i]);
    return bandwidth_Bps[i] + t * (bandwidth_Bps[i + 1] - bandwidth_Bps[i]);
  }
};

/// Bytes of KV cache and state that a prefix occupies.
struct KvSize {
  double bytes_per_token = 0; ///< grows without bound
  double state_bytes = 0;     ///< recurrent state: needed whole by every load
  int windows = 0;            ///< sliding-window layers: never more than `window_tokens` each
  double window_tokens[max_windows] = {}, window_bytes_per_token[max_windows] = {};

  /// Without the state.
  [[nodiscard]] double token_bytes(double tokens) const noexcept {
    double bytes = bytes_per_token * tokens;
    for (int i = 0; i < windows; ++i)
      bytes += window_bytes_per_token[i] * (tokens < window_tokens[i] ? tokens : window_tokens[i]);
    return bytes;
  }
  /// Of one more token, at least for every shorter prefix and at most for every longer one.
  [[nodiscard]] double marginal_bytes(double tokens) const noexcept {
    double bytes = bytes_per_token;
    for (int i = 0; i < windows; ++i)
      if (tokens < window_tokens[i]) bytes += window_bytes_per_token[i];
    return bytes;
  }
};

/// A break-even file in the form that answers in nanoseconds: a value of fixed size (about 150 kB:
/// keep it in static or heap storage, not on a small stack), immutable once built, so that any
/// number of threads may read it. An empty Policy never loads.
class Policy {
public:
  Policy() noexcept {
    for (std::int64_t& threshold : m_threshold)
      threshold = never;
  }

  /// True when at least one prompt can be decided.
  [[nodiscard]] bool empty() const noexcept { return m_curve.empty(); }
  [[nodiscard]] int tier_count() const noexcept { return m_tiers; }

  /// The tier of that name ("memory", "file:/kv"); an invalid TierId when there is none. Look it up
  /// once, not per call.
  [[nodiscard]] TierId find_tier(const char* name) const noexcept {
    for (int i = 0; i < m_tiers; ++i)
      if (name != nullptr && same(m_name[i], name)) return TierId(i);
    return TierId();
  }
  [[nodiscard]] bool has(TierId tier) const noexcept {
    return tier.index >= 0 && tier.index < m_tiers && tier.index < max_tiers;
  }
  [[nodiscard]] const char* tier_name(TierId tier) const noexcept {
    return has(tier) ? m_name[tier.index] : "";
  }
  [[nodiscard]] TierVerdict verdict(TierId tier) const noexcept {
    return has(tier) ? m_verdict[tier.index] : TierVerdict::uncalibrated;
  }

  /// Why the tier is never loaded from; load_is_faster when nothing stands against it.
  [[nodiscard]] Reason obstacle(TierId tier) const noexcept {
    return has(tier) ? m_obstacle[tier.index] : Reason::unknown_tier;
  }

  /// The precomputed threshold: does loading a hit of `cached` tokens win on an idle node, nothing
  /// being resident? At the break-even length and above it; from the shortest calibrated length
  /// for `always`; for `inconclusive` only from the upper end of its interval; never for `never`,
  /// an uncalibrated or an unknown tier.
  [[nodiscard]] bool should_load(TierId tier, Tokens cached) const noexcept {
    // One compare for both ends: a negative index becomes a large one.
    const auto slot = static_cast<unsigned>(tier.index);
    return slot < static_cast<unsigned>(max_tiers) && cached.value >= m_threshold[slot];
  }
  /// The length that should_load compares with; Tokens(Policy::never) when it never loads.
  [[nodiscard]] Tokens threshold(TierId tier) const noexcept {
    return Tokens(has(tier) ? m_threshold[tier.index] : never);
  }
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] const StepCurve& curve() const noexcept { return m_curve; }
  [[nodiscard]] const KvSize& kv_size() const noexcept { return m_kv; }
  /// Meaningful only when has(tier).
  [[nodiscard]] const TierCost& cost(TierId tier) const noexcept { return m_cost[tier.index]; }
  [[nodiscard]] std::int64_t block_tokens() const noexcept { return m_block; }
  /// A hybrid's prefix can be loaded at multiples of this; 0 = anywhere.
  [[nodiscard]] std::int64_t checkpoint_tokens() const noexcept { return m_checkpoint; }
  /// The longest prefix that was calibrated; beyond it answers are marked `extrapolated`.
  [[nodiscard]] std::int64_t longest_calibrated() const noexcept { return m_longest; }
  /// False when the times come from a prediction, a publication or another tool.
  [[nodiscard]] bool measured() const noexcept { return m_measured; }
  /// Factor on prefill times, from observe.hpp.
  [[nodiscard]] double prefill_correction() const noexcept { return m_prefill_correction; }

private:
  void set_verdict(int i, TierVerdict verdict) noexcept {
    m_verdict[i] = verdict;
    m_obstacle[i] = verdict == TierVerdict::never ? Reason::tier_never_wins
                    : m_cost[i].points == 0       ? Reason::tier_uncalibrated
                                                  : Reason::load_is_faster;
  }
  friend class PolicyBuilder;
  friend class PolicyCorrector;
  static bool same(const char* a, const char* b) noexcept {
    while (*a != '\0' && *a == *b)
      ++a, ++b;
    return *a == *b;
  }

  std::int64_t m_threshold[max_tiers];
  int m_tiers = 0;
  TierVerdict m_verdict[max_tiers] = {};
  Reason m_obstacle[max_tiers] = {};
  std::int64_t m_block = 16, m_checkpoint = 0, m_longest = 0;
  bool m_measured = true;
  double m_prefill_correction = 1;
  KvSize m_kv;
  TierCost m_cost[max_tiers];
  StepCurve m_curve;
  char m_name[max_tiers][max_tier_name] = {};
};

} // namespace breakeven
