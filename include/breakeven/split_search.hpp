#pragma once

#include "breakeven/policy.hpp"
#include "breakeven/query.hpp"

namespace breakeven {

/// The search behind decide(): one object per query, on the stack.
class SplitSearch {
public:
  SplitSearch(const Policy& policy, const Query& query) noexcept
      : m_policy(policy), m_query(query), m_curve(policy.curve()) {}

  [[nodiscard]] Decision run() noexcept {
    Decision decision;
    decision.reason = prepare();
    if (decision.reason != Reason::load_is_faster) return decision;
    const double recompute = m_weight * m_curve.prefill_s(m_resident, m_prompt - m_resident);
    m_best = recompute;
    m_best_tokens = -1;
    for (int i = 0; i < m_parts; ++i)
      search_part(m_part[i]);
    decision.load = m_best_tokens >= 0;
    const std::int64_t shown = decision.load ? m_best_tokens : m_usable;
    const Part& part = part_of(shown);
    decision.load_s = part.load_s(m_policy.kv_size(), m_resident, static_cast<double>(shown));
    decision.recompute_s =
        m_policy.prefill_correction() * m_curve.saved_s(m_resident, shown, m_prompt);
    decision.margin_s = recompute - cost(part, shown);
    decision.load_tokens = Tokens(decision.load ? shown : 0);
    decision.extrapolated = extrapolated(shown);
    if (!decision.load) decision.reason = Reason::recompute_is_faster;
    return decision;
  }

private:
  /// A segment that can be loaded: tokens (begin, end], with its load time as a function of the
  /// length loaded in total.
  struct Part {
    std::int64_t begin, end;
    double before_s;     ///< the parts before it, whole
    double fixed_s;      ///< with the bytes of the state
    double byte_s;       ///< seconds per byte
    double tier_chunk_s; ///< seconds per tier chunk: its pieces
    double begin_bytes;  ///< KvSize::token_bytes of what lies before it, beyond `resident`
    std::int64_t chunk_tokens, begin_chunk;
    bool extrapolated;

    [[nodiscard]] double without_state_s(const KvSize& kv, std::int64_t resident,
                                         double tokens) const noexcept {
      const std::int64_t length = static_cast<std::int64_t>(tokens);
      const std::int64_t chunks = (length + chunk_tokens - 1) / chunk_tokens - begin_chunk;
      return before_s + tier_chunk_s * static_cast<double>(chunks) +
             byte_s * (kv.token_bytes(tokens - static_cast<double>(resident)) - begin_bytes);
    }
    [[nodiscard]] double load_s(const KvSize& kv, std::int64_t resident,
                                double tokens) const noexcept {
      return fixed_s + without_state_s(kv, resident, tokens);
    }
  };

  static bool valid(Tokens tokens) noexcept {
    return tokens.value >= 0 && tokens.value <= max_tokens;
  }
  static bool valid(double value, double below) noexcept { return value >= 0 && value < below; }
  static std::int64_t greatest_common_divisor(std::int64_t a, std::int64_t b) noexcept {
    while (b != 0) {
      const std::int64_t rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }

  /// Checks the query and turns its segments into parts; load_is_faster = go on.
  [[nodiscard]] Reason prepare() noexcept {
    if (m_policy.empty()) return Reason::no_policy;
    if (!valid(m_query.prompt) || !valid(m_query.resident) || !valid(m_query.block) ||
        m_query.prompt.value == 0 || !valid(m_query.queue_wait.value, 1e18) ||
        !valid(m_query.compute_price, 1e18) || !valid(m_query.margin, 1))
      return Reason::bad_query;
    m_prompt = m_query.prompt.value;
    m_resident = m_query.resident.value;
    m_wait = m_query.queue_wait.value;
    m_weight = (1 + m_query.compute_price) * (1 - m_query.margin) * m_policy.prefill_correction();
    m_unit = m_query.block.value > 0 ? m_query.block.value : m_policy.block_tokens();
    if (const std::int64_t step = m_policy.checkpoint_tokens(); step > 0) {
      const std::int64_t factor = step / greatest_common_divisor(step, m_unit);
      m_unit = factor > max_tokens / m_unit ? max_tokens : m_unit * factor;
    }
    if (const Reason stopped = add_parts(); m_parts == 0) return stopped;
    m_usable = m_part[m_parts - 1].end / m_unit * m_unit;
    while (m_parts > 0 && m_usable <= m_part[m_parts - 1].begin)
      --m_parts;
    return m_parts > 0 && m_usable > m_resident ? Reason::load_is_faster
                                                : Reason::shorter_than_block;
  }

  /// Why there is no further part.
  [[nodiscard]] Reason add_parts() noexcept {
    std::int64_t position = m_resident;
    double before_s = 0;
    for (int i = 0; i < m_query.segment_count(); ++i) {
      const Segment segment = m_query.segment(i);
      if (segment.end.value < 0 || !(segment.in_flight >= 0) || segment.in_flight > 1e18)
        return Reason::bad_query;
      const std::int64_t end = segment.end.value < m_prompt - 1 ? segment.end.value : m_prompt - 1;
      if (end <= position) continue;
      if (!m_policy.has(segment.tier)) return Reason::unknown_tier;
      if (m_policy.verdict(segment.tier) == TierVerdict::never) return Reason::tier_never_wins;
      if (m_policy.cost(segment.tier).points == 0) return Reason::tier_uncalibrated;
      before_s = add_part(segment, position, end, before_s);
      position = end;
    }
    return Reason::nothing_cached;
  }

  /// Returns the load time up to the end of the new part, without the state.
  double add_part(const Segment& segment, std::int64_t begin, std::int64_t end,
                  double before_s) noexcept {
    const TierCost& tier = m_policy.cost(segment.tier);
    const KvSize& kv = m_policy.kv_size();
    Part& part = m_part[m_parts++];
    part.begin = begin;
    part.end = end;
    part.byte_s = tier.correction / tier.bandwidth(segment.in_flight);
    part.before_s = before_s + tier.correction * tier.fixed_s;
    part.fixed_s = part.byte_s * kv.state_bytes;
    part.tier_chunk_s = tier.correction * tier.piece_s * static_cast<double>(tier.pieces_per_chunk);
    part.chunk_tokens = tier.chunk_tokens;
    part.begin_chunk = begin / tier.chunk_tokens;
    part.begin_bytes = kv.token_bytes(static_cast<double>(begin - m_resident));
    part.extrapolated = segment.in_flight > tier.in_flight[tier.points - 1];
    return part.without_state_s(kv, m_resident, static_cast<double>(end));
  }

  [[nodiscard]] double cost(const Part& part, std::int64_t tokens) const noexcept {
    const double load =
        part.load_s(m_policy.kv_size(), m_resident, static_cast<double>(tokens)) - m_wait;
    return (load > 0 ? load : 0) + m_weight * m_curve.prefill_s(tokens, m_prompt - tokens);
  }

  void search_part(const Part& part) noexcept {
    for (std::int64_t tokens = (part.begin / m_unit + 1) * m_unit; tokens <= part.end;
         tokens += m_unit) {
      const double candidate = cost(part, tokens);
      if (candidate < m_best) {
        m_best = candidate;
        m_best_tokens = tokens;
      }
    }
  }

  [[nodiscard]] const Part& part_of(std::int64_t tokens) const noexcept {
    int i = 0;
    while (i + 1 < m_parts && tokens > m_part[i].end)
      ++i;
    return m_part[i];
  }

  [[nodiscard]] bool extrapolated(std::int64_t tokens) const noexcept {
    if (m_policy.longest_calibrated() > 0 && tokens > m_policy.longest_calibrated()) return true;
    for (int i = 0; i < m_parts && m_part[i].begin < tokens; ++i)
      if (m_part[i].extrapolated) return true;
    const double last = m_curve.last_context();
    if (static_cast<double>(m_prompt - 1) <= last) return false;
    return static_cast<double>(last_step(m_resident)) > last ||
           static_cast<double>(last_step(tokens)) > last;
  }
  /// Context of the last step of a prefill that starts after `context`.
  [[nodiscard]] std::int64_t last_step(std::int64_t context) const noexcept {
    const std::int64_t chunk = m_curve.chunk_tokens();
    return context + (m_prompt - context - 1) / chunk * chunk;
  }

  const Policy& m_policy;
  const Query& m_query;
  const StepCurve& m_curve;
  std::int64_t m_prompt = 0, m_resident = 0, m_unit = 1, m_usable = 0;
  double m_wait = 0, m_weight = 1;
  int m_parts = 0;
  double m_best = 0;
  std::int64_t m_best_tokens = -1;
  Part m_part[max_segments];
};

} // namespace breakeven
