#pragma once

#include "breakeven/policy.hpp"
#include "breakeven/query.hpp"
#include "breakeven/range_search.hpp"

namespace breakeven {

/// The search behind decide(): checks a query, turns its segments into parts with their load
/// times, and finds the cheapest length over all of them. One object per query, on the stack.
class SplitSearch : private RangeSearch {
public:
  /// `busy_s`: when each tier of the policy is free for a load, from now; null = at once.
  SplitSearch(const Policy& policy, const Query& query, const double* busy_s = nullptr) noexcept
      : RangeSearch(policy.curve()), m_policy(policy), m_query(query), m_busy_s(busy_s) {}

  [[nodiscard]] Decision run() noexcept {
    Decision decision;
    decision.measured = m_policy.measured();
    decision.reason = prepare();
    if (decision.reason != Reason::load_is_faster) return decision;
    const double all_s = m_curve.prefill_s(m_resident, m_prompt - m_resident);
    m_best = m_weight * all_s;
    // The longest hit first: where it wins, it mostly rules all shorter ones out.
    consider(m_part[m_parts - 1], m_usable);
    const double usable_load_s = m_last_load_s, usable_prefill_s = m_last_prefill_s;
    if (m_wait > 0 || (shorter_may_win(least_rise_anywhere_s(m_usable)) &&
                       shorter_may_win(least_rise_s(m_usable))))
      search_parts();

    decision.load = m_best_tokens >= 0;
    if (!decision.load) decision.reason = Reason::recompute_is_faster;
    const std::int64_t shown = decision.load ? m_best_tokens : m_usable;
    decision.load_tokens = Tokens(decision.load ? shown : 0);
    decision.load_s = decision.load ? m_best_load_s : usable_load_s;
    const double saved_s = all_s - (decision.load ? m_best_prefill_s : usable_prefill_s);
    decision.recompute_s = m_policy.prefill_correction() * saved_s;
    const double seen_s = decision.load_s - m_wait;
    decision.margin_s = m_weight * saved_s - (seen_s > 0 ? seen_s : 0);
    decision.extrapolated = extrapolated(shown);
    return decision;
  }

  /// After run() said load: when the parts that it uses are loaded, per tier.
  void book(const Decision& decision, double* busy_s) const noexcept {
    for (int i = 0; i < m_parts && m_part[i].begin < decision.load_tokens.value; ++i) {
      const std::int64_t end =
          m_part[i].end < decision.load_tokens.value ? m_part[i].end : decision.load_tokens.value;
      busy_s[m_tier[i]] = end == decision.load_tokens.value ? m_part[i].load_s(end)
                                                            : m_part[i].without_state_s(end);
    }
  }

private:
  static bool valid(Tokens tokens) noexcept {
    return tokens.value >= 0 && tokens.value <= max_tokens;
  }
  static bool valid(double value, double below) noexcept { return value >= 0 && value < below; }

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
    if (m_policy.checkpoint_tokens() > 0)
      m_unit = whole::least_common_multiple(m_unit, m_policy.checkpoint_tokens());
    const Reason stopped = add_parts();
    if (m_parts == 0 || stopped == Reason::bad_query) return stopped;
    m_usable = whole::floor_to(m_part[m_parts - 1].end, m_unit);
    while (m_parts > 0 && m_usable <= m_part[m_parts - 1].begin)
      --m_parts;
    return m_parts > 0 && m_usable > m_resident ? Reason::load_is_faster
                                                : Reason::shorter_than_block;
  }

  /// Returns why there is no further part.
  [[nodiscard]] Reason add_parts() noexcept {
    std::int64_t position = m_resident;
    double before_s = 0;
    for (int i = 0; i < m_query.segment_count(); ++i) {
      const Segment segment = m_query.segment(i);
      if (segment.end.value < 0 || !valid(segment.in_flight, 1e18)) return Reason::bad_query;
      const std::int64_t end = segment.end.value < m_prompt - 1 ? segment.end.value : m_prompt - 1;
      if (end <= position) continue;
      const Reason obstacle = m_policy.obstacle(segment.tier);
      if (obstacle != Reason::load_is_faster) return obstacle;
      if (m_parts > 0) before_s = m_part[m_parts - 1].without_state_s(position);
      const double end_s = before_s;
      if (m_busy_s != nullptr && m_busy_s[segment.tier.index] > before_s)
        before_s = m_busy_s[segment.tier.index];
      m_tier[m_parts] = segment.tier.index;
      LoadPart& part = m_part[m_parts++];
      part.set(m_policy, segment, m_resident, position, end, before_s);
      if (m_parts > 1) m_part[m_parts - 2].end_s = end_s + least_state_s();
      position = end;
    }
    return Reason::nothing_cached;
  }

  /// The state comes from the tier of the last token loaded: around the end of the last part but
  /// one, from either of two.
  [[nodiscard]] double least_state_s() const noexcept {
    const double a = m_part[m_parts - 2].state_s(), b = m_part[m_parts - 1].state_s();
    return a < b ? a : b;
  }

  /// Whether a length below m_usable, just considered, may cost less than the best so far, by a
  /// lower bound over all parts at once: each token less to load adds `rise` to the cost of
  /// computing. That is a line and the load of a part at least concave: its ends tell.
  [[nodiscard]] bool shorter_may_win(double rise) const noexcept {
    const double usable = static_cast<double>(m_usable);
    const double spare = m_last_cost - worth(), base = spare - m_last_load_s + rise * usable;
    const LoadPart& last = m_part[m_parts - 1];
    bool may = spare < last.unfilled_s(m_usable);
    for (int i = m_parts - 2; i >= 0; --i) {
      const LoadPart& part = m_part[i];
      may |= base - rise * static_cast<double>(part.end) + part.end_s < part.unfilled_s(part.end);
    }
    const double begin = static_cast<double>(m_part[0].begin);
    return may || base - rise * begin + m_part[0].least_s(begin) < 0;
  }

  /// m_usable, the longest length of the last part, has just been considered.
  void search_parts() noexcept {
    m_period = whole::least_common_multiple(m_unit, m_curve.chunk_tokens());
    std::int64_t hi = m_usable;
    for (int i = m_parts - 1;;) {
      search_part(m_part[i], hi);
      if (--i < 0) return;
      hi = whole::floor_to(m_part[i].end, m_unit);
      if (hi > m_part[i].begin) consider(m_part[i], hi);
    }
  }
  /// Splits a part where its load stops hiding behind the queue wait: on either side the cost of
  /// loading is concave in the length. `hi` has just been considered.
  void search_part(const LoadPart& part, std::int64_t hi) noexcept {
    const std::int64_t lo = whole::floor_to(part.begin, m_unit) + m_unit;
    if (lo > hi) return;
    if (m_wait <= 0) return search_region(part, lo, hi, false);
    if (m_last_load_s <= m_wait) return search_region(part, lo, hi, true);
    const std::int64_t hidden = longest_hidden(part, lo, hi);
    search_region(part, hidden < lo ? lo : hidden + m_unit, hi, false);
    if (hidden < lo) return;
    consider(part, hidden);
    search_region(part, lo, hidden, true);
  }
  /// The longest candidate whose load hides behind the wait; below lo when none does.
  [[nodiscard]] std::int64_t longest_hidden(const LoadPart& part, std::int64_t lo,
                                            std::int64_t hi) const noexcept {
    std::int64_t below = lo - m_unit, above = hi;
    while (above - below > m_unit) {
      const std::int64_t middle = below + whole::floor_to((above - below) / 2, m_unit);
      const std::int64_t probe = middle > below ? middle : below + m_unit;
      (part.load_s(probe) <= m_wait ? below : above) = probe;
    }
    return below;
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
    return context + m_curve.full_chunks(m_prompt - context - 1) * m_curve.chunk_tokens();
  }

  const Policy& m_policy;
  const Query& m_query;
  const double* m_busy_s;
  std::int64_t m_resident = 0, m_usable = 0;
  int m_parts = 0;
  int m_tier[max_segments];
  LoadPart m_part[max_segments];
};

} // namespace breakeven
