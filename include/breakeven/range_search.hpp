#pragma once

#include "breakeven/load_part.hpp"
#include "breakeven/step_curve.hpp"

namespace breakeven {

/// Finds the cheapest length to load within one part, exactly, without trying every block.
///
/// Between the lengths at which something measured begins or ends (a chunk, a measured `new` or
/// context), the compute time is a quadratic in the length, concave unless noise bends it, and the
/// load time is a line with a jump at each tier chunk. So the best length of such a piece is at one
/// of a few places, and a lower bound from its ends tells whether to look at all.
class RangeSearch {
public:
  RangeSearch(const StepCurve& curve) noexcept : m_curve(curve) {}

protected:
  void consider(const LoadPart& part, std::int64_t tokens) noexcept {
    const double load = part.load_s(tokens);
    const double prefill = m_curve.prefill_s(tokens, m_prompt - tokens);
    const double seen = load - m_wait;
    m_last_load_s = load;
    m_last_prefill_s = prefill;
    m_last_cost = (seen > 0 ? seen : 0) + m_weight * prefill;
    if (!(m_last_cost < m_best)) return;
    m_best = m_last_cost;
    m_best_tokens = tokens;
    m_best_load_s = load;
    m_best_prefill_s = prefill;
  }

  /// A bound at or above this cannot win by more than rounding.
  [[nodiscard]] double worth() const noexcept { return m_best - m_best * 1e-12; }

  /// What each token less than `tokens` to load adds to the cost of computing, at least.
  [[nodiscard]] double least_rise_s(std::int64_t tokens) const noexcept {
    return m_weight * per_token_s(m_curve.least_rise_s(m_prompt, m_prompt - tokens, chunk()));
  }
  /// The same, cheaper and lower.
  [[nodiscard]] double least_rise_anywhere_s(std::int64_t tokens) const noexcept {
    return m_weight *
           per_token_s(m_curve.least_rise_anywhere_s(m_prompt, m_prompt - tokens, chunk()));
  }

  /// Looks at the lengths lo, lo + unit, ..., hi. `hidden`: all of them load within the queue
  /// wait; otherwise none does. hi has been considered: its cost is m_last_cost.
  ///
  /// Lengths that differ by whole chunks leave the same remainder to compute, and going from one to
  /// the next longer trades the load of a chunk for its computation at that context. Where that
  /// always pays, only the last period can hold the best length; where it never pays, only the
  /// first; where computing gets dearer with context (a concave cost), only the two.
  void search_region(const LoadPart& part, std::int64_t lo, std::int64_t hi, bool hidden) noexcept {
    if (!hidden && part.chunk_s > 0) hi = skip_started_chunk(part, lo, hi);
    if (lo >= hi) return;
    const double per_token_s = hidden ? 0 : part.marginal_s(lo);
    if (hi - lo < m_period) {
      if (!tail_is_dearer(part, hi, hi - lo, per_token_s, hidden))
        search_range(part, lo, hi, hidden);
      return;
    }
    const double period = static_cast<double>(m_period);
    const double compute = m_weight * period * m_curve.inverse_chunk();
    // A period holds a whole number of tier chunks, or one more in places.
    const double most_s = period * per_token_s + (hidden ? 0 : part.chunk_s);
    if (compute * m_curve.least_chunk_s() >= most_s ||
        compute * m_curve.least_chunk_s(static_cast<double>(lo)) >= most_s) {
      if (!tail_is_dearer(part, hi, m_period, per_token_s, hidden))
        search_range(part, hi - m_period + m_unit, hi, hidden);
      return;
    }
    const bool even = hidden || part.chunk_s <= 0 || whole::divides(part.chunk_tokens, m_period);
    const double uneven_s = even ? 0 : part.chunk_s;
    const double least_s = hidden ? 0 : period * part.marginal_s(hi) - uneven_s;
    const bool longer_never_pays =
        compute * m_curve.most_chunk_s(static_cast<double>(hi)) <= least_s;
    if (!longer_never_pays && !(even && m_curve.chunk_rises()))
      return search_range(part, lo, hi, hidden);
    if (!longer_never_pays) search_range(part, hi - m_period + m_unit, hi, hidden);
    search_range(part, lo, lo + m_period - m_unit, hidden);
  }

  const StepCurve& m_curve;
  std::int64_t m_prompt = 0, m_unit = 1;
  std::int64_t m_period = 1; ///< least common multiple of unit and chunk; set before a search
  double m_wait = 0, m_weight = 1;
  double m_best = 0, m_best_load_s = 0, m_best_prefill_s = 0;
  std::int64_t m_best_tokens = -1; ///< -1 = recompute
  double m_last_cost = 0, m_last_load_s = 0, m_last_prefill_s = 0;

private:
  [[nodiscard]] std::int64_t chunk() const noexcept { return m_curve.chunk_tokens(); }
  /// Whole chunks of further tokens to compute are steps of their own, whatever the rest is.
  [[nodiscard]] double per_token_s(double rest_s) const noexcept {
    const double whole_s = m_curve.least_chunk_s() * m_curve.inverse_chunk();
    return rest_s < whole_s ? rest_s : whole_s;
  }

  /// Where hi lies inside a tier chunk, the lengths down to the chunk's edge cost the same pieces.
  /// When less of that chunk is no better, goes on from the edge, which it considers; hi otherwise.
  [[nodiscard]] std::int64_t skip_started_chunk(const LoadPart& part, std::int64_t lo,
                                                std::int64_t hi) noexcept {
    const std::int64_t edge = whole::floor_to(hi, part.chunk_tokens);
    if (edge == hi || !whole::divides(m_unit, part.chunk_tokens)) return hi;
    const std::int64_t span = hi - (edge > lo ? edge : lo);
    const double rise = m_weight * m_curve.least_rise_s(m_prompt, m_prompt - hi, span);
    if (rise < part.marginal_bytes_s(lo)) return hi;
    if (edge >= lo) consider(part, edge);
    return edge;
  }

  /// Whether no length within `span` below hi can beat the best, from one slope: what computing
  /// one token more adds at least, against what loading it less saves at most.
  [[nodiscard]] bool tail_is_dearer(const LoadPart& part, std::int64_t hi, std::int64_t span,
                                    double per_token_s, bool hidden) const noexcept {
    const std::int64_t fresh = m_prompt - hi;
    const double partial = hidden ? 0 : part.unfilled_s(hi);
    const double spare = m_last_cost - partial - worth();
    if (spare < 0) return false;
    if (m_weight * m_curve.least_rise_anywhere_s(m_prompt, fresh, span) >= per_token_s) return true;
    const double deficit = per_token_s - m_weight * m_curve.least_rise_s(m_prompt, fresh, span);
    return deficit * static_cast<double>(span) <= spare;
  }

  /// All candidates in [lo, hi], run by run: a run keeps the number of full chunks, so that the
  /// compute time is continuous.
  void search_range(const LoadPart& part, std::int64_t lo, std::int64_t hi, bool hidden) noexcept {
    const std::int64_t last = m_prompt - lo;
    consider(part, lo);
    std::int64_t fresh = m_prompt - hi;
    for (std::int64_t chunks = m_curve.full_chunks(fresh); fresh < last; ++chunks) {
      const std::int64_t done = chunks * chunk();
      const std::int64_t end = done + chunk() < last ? done + chunk() : last;
      search_run(part, chunks, fresh - done, end - done, hidden);
      fresh = end;
    }
  }

  /// Remainders [from, to] after `chunks` full chunks, cut where a full chunk or the remainder
  /// reaches a measured context: in between, all but the remainder's own curve is linear.
  void search_run(const LoadPart& part, std::int64_t chunks, std::int64_t from, std::int64_t to,
                  bool hidden) noexcept {
    const std::int64_t fresh = chunks * m_curve.chunk_tokens();
    const std::int64_t longest = m_prompt - fresh;
    const auto other_s = [&](std::int64_t remainder) {
      const std::int64_t tokens = longest - remainder;
      const double full_s = chunks == 0 ? 0 : m_curve.prefill_s(tokens, fresh);
      return m_weight * full_s + (hidden ? 0 : part.least_s(static_cast<double>(tokens)) - m_wait);
    };
    double at_from = other_s(from);
    while (from < to) {
      const std::int64_t distance = m_curve.to_context_cut(m_prompt - from);
      const std::int64_t cut = to - from < distance ? to : from + distance;
      const double at_cut = other_s(cut);
      Piece piece{part, longest, m_curve.context_cell(static_cast<double>(m_prompt - cut)), 0, 0,
                  0,    0};
      // The load is concave where sliding windows fill: the chord between the cuts bounds it.
      piece.slope = (at_cut - at_from) / static_cast<double>(cut - from);
      piece.base = at_from - piece.slope * static_cast<double>(from);
      search_cells(piece, from, cut);
      from = cut;
      at_from = at_cut;
    }
  }

  struct Piece {
    const LoadPart& part;
    std::int64_t longest; ///< length loaded = longest - remainder
    int q;                ///< cell of the remainder's context
    double base, slope;   ///< all but the remainder's step, in the remainder
    std::int64_t from, to;
  };

  /// Cuts at the measured `new` of the remainder and looks into what may win.
  void search_cells(Piece& piece, std::int64_t from, std::int64_t to) noexcept {
    const double context = static_cast<double>(m_prompt) - m_curve.m_context[piece.q];
    const double* step = m_curve.m_step[piece.q];
    const double* slope = m_curve.m_slope[piece.q];
    const auto bound = [&](int j, double remainder) {
      const double at_j = step[j] + (context - remainder) * slope[j];
      const double next = step[j + 1] + (context - remainder) * slope[j + 1];
      const double t = (remainder - m_curve.m_new[j]) * m_curve.m_inverse_width[j];
      return piece.base + piece.slope * remainder + m_weight * (at_j + t * (next - at_j));
    };
    int j = m_curve.new_cell(static_cast<double>(from));
    double at = static_cast<double>(from), left = bound(j, at);
    for (const double end = static_cast<double>(to); at < end; ++j) {
      const double until = m_curve.m_new[j + 1] < end ? m_curve.m_new[j + 1] : end;
      const double right = bound(j, until);
      const double twist = (slope[j + 1] - slope[j]) * m_curve.m_inverse_width[j];
      // A negative twist (noise) makes the piece convex: it sags below its chord.
      const double sag = twist < 0 ? -twist * m_weight * (until - at) * (until - at) * 0.25 : 0;
      if ((left < right ? left : right) - sag < worth()) {
        piece.from = static_cast<std::int64_t>(at);
        piece.to = static_cast<std::int64_t>(until);
        search_piece(piece, twist < 0);
      }
      left = right;
      at = until;
    }
  }

  /// The candidates of a piece. Where it is concave but for the jumps of the tier's chunks, the
  /// best one is at an end of it or beside the first or last jump.
  void search_piece(const Piece& piece, bool convex) noexcept {
    const LoadPart& part = piece.part;
    const std::int64_t lo = whole::ceil_to(piece.longest - piece.to, m_unit);
    const std::int64_t hi = whole::floor_to(piece.longest - piece.from, m_unit);
    if (lo > hi) return;
    const bool jumps = part.chunk_s > 0 && !whole::divides(part.chunk_tokens, m_unit);
    if (convex || (jumps && !whole::divides(m_unit, part.chunk_tokens))) {
      for (std::int64_t tokens = lo; tokens <= hi; tokens += m_unit)
        consider_in(part, tokens);
      return;
    }
    consider_in(part, lo);
    consider_in(part, hi);
    if (!jumps) return;
    const std::int64_t first = whole::ceil_to(lo, part.chunk_tokens);
    const std::int64_t last = whole::floor_to(hi, part.chunk_tokens);
    if (first > last) return;
    consider_in(part, first);
    consider_in(part, last);
    if (first < hi) consider_in(part, first + m_unit);
    if (last < hi) consider_in(part, last + m_unit);
  }
  void consider_in(const LoadPart& part, std::int64_t tokens) noexcept {
    if (tokens > part.begin && tokens <= part.end) consider(part, tokens);
  }
};

} // namespace breakeven
