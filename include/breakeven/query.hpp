#pragma once

#include "breakeven/types.hpp"

namespace breakeven {

/// A part of a hit: up to `end` tokens, counted from the start of the prompt, `tier` holds the KV.
/// It begins where the part before it ends (the first one at Query::resident).
struct Segment {
  TierId tier;
  Tokens end;
  double in_flight; ///< loads that will run in that tier at the same time, this one included
};

/// One request. Only `prompt` and one segment are needed; the rest has neutral defaults.
class Query {
public:
  Tokens prompt;            ///< length of the prompt; at least one token is always computed
  Tokens resident;          ///< tokens whose KV is already in device memory
  Tokens block;             ///< load_tokens is a multiple of it; 0 = the policy's
  Seconds queue_wait;       ///< the request waits this long anyway: a load hides behind it
  double compute_price = 0; ///< worth of a device-second beyond this request's latency, e.g. how
                            ///< many other requests wait
  double margin = 0;        ///< 0.1 = loading must cost less than 90 % of recomputing

  Query() noexcept {} // NOLINT: m_raw stays uninitialised
  explicit Query(Tokens prompt_tokens) noexcept : prompt(prompt_tokens) {}
  /// The common case: a prefix of `cached` tokens in one tier.
  Query(Tokens prompt_tokens, TierId tier, Tokens cached) noexcept : prompt(prompt_tokens) {
    add(tier, cached);
  }

  /// Appends a segment. False, and nothing changes, when max_segments are there already: the rest
  /// of the hit is then recomputed, which is always right.
  bool add(TierId tier, Tokens end, double in_flight = 1) noexcept {
    if (m_count >= max_segments) return false;
    m_raw[m_count++] = {end.value, in_flight, tier.index};
    return true;
  }
  void clear_segments() noexcept { m_count = 0; }
  [[nodiscard]] int segment_count() const noexcept { return m_count; }
  /// `index` in [0, segment_count).
  [[nodiscard]] Segment segment(int index) const noexcept {
    const Raw& raw = m_raw[index];
    return {TierId(raw.tier), Tokens(raw.end), raw.in_flight};
  }

private:
  struct Raw {
    std::int64_t end;
    double in_flight;
    int tier;
  };
  int m_count = 0;
  // Only the first m_count are ever read: clearing the rest would cost as much as deciding.
  Raw m_raw[max_segments];
};

/// The answer: load the first `load_tokens` tokens of the prompt and compute the rest.
struct Decision {
  bool load = false;
  bool extrapolated = false; ///< an input lies outside what was calibrated
  bool measured = true;      ///< false: the policy's times are predicted, published or imported
  Reason reason = Reason::no_policy;
  Tokens load_tokens; ///< counted from the start of the prompt (resident included); 0 when !load
  /// The comparison behind the answer, for the best split, or when !load for the whole usable hit.
  double load_s = 0; ///< time of the load itself; what hides behind queue_wait is still in it
  double recompute_s =
      0; ///< device time that the load saves: saved_s(resident, load_tokens, prompt)
  /// What loading gains: recompute_s * (1 + compute_price) * (1 - margin) - visible load time.
  double margin_s = 0;
};

/// The reason in words, which say so where the policy's times were not measured on the node.
constexpr const char* reason_text(const Decision& decision) noexcept {
  if (!decision.measured && decision.reason == Reason::load_is_faster)
    return "loading is faster by times that were not measured here";
  if (!decision.measured && decision.reason == Reason::recompute_is_faster)
    return "recomputing is faster by times that were not measured here";
  if (!decision.measured && decision.reason == Reason::tier_never_wins)
    return "the tier never wins by times that were not measured here";
  return to_string(decision.reason);
}

} // namespace breakeven
