#pragma once

#include "breakeven/types.hpp"

/// step_s(context, new) from measured points, and its sum over the chunks of a prefill.
namespace breakeven {

/// Time of one forward pass, bilinear between measured points and passing through each of them.
///
/// The dense part (linear in `new`, constant below its first point) and the attention grids
/// (bilinear, scaled to 0 at new = 0) are summed on the union of their axes, which is exact.
/// Beyond the last point of an axis the last slope goes on, but never falls: that holds the
/// utilisation reached at the edge. Filled by PolicyBuilder.
class StepCurve {
public:
  [[nodiscard]] std::int64_t chunk_tokens() const noexcept { return m_chunk; }
  /// Whole chunks in a non-negative number of tokens.
  [[nodiscard]] std::int64_t full_chunks(std::int64_t tokens) const noexcept {
    return m_shift >= 0 ? tokens >> m_shift : tokens / m_chunk;
  }
  [[nodiscard]] bool empty() const noexcept { return m_contexts == 0; }
  /// Largest measured context.
  [[nodiscard]] double last_context() const noexcept {
    return m_contexts == 0 ? 0 : m_context[m_contexts - 1];
  }

  /// One step over `fresh` tokens (1..chunk_tokens) that attend to `context` cached ones.
  [[nodiscard]] double step_s(std::int64_t context, std::int64_t fresh) const noexcept {
    if (empty() || fresh <= 0) return 0;
    const double c = static_cast<double>(context);
    return cell_s(context_cell(c, full_chunks(context)), c, static_cast<double>(fresh));
  }

  /// Sum of the steps that cover `fresh` tokens after `context`, chunk_tokens at a time. O(1).
  [[nodiscard]] double prefill_s(std::int64_t context, std::int64_t fresh) const noexcept {
    if (empty() || fresh <= 0) return 0;
    const std::int64_t chunks = full_chunks(fresh), rest = fresh - chunks * m_chunk;
    const std::int64_t before = full_chunks(context);
    double total = 0;
    if (chunks > 0) {
      const double residue = static_cast<double>(context - before * m_chunk);
      const int interval = offset_interval(residue);
      total = chunk_sum(before + chunks - 1, residue, interval) -
              chunk_sum(before - 1, residue, interval);
    }
    if (rest == 0) return total;
    const double c = static_cast<double>(context + chunks * m_chunk);
    return total + cell_s(context_cell(c, before + chunks), c, static_cast<double>(rest));
  }

  /// What loading [resident, cached) of a prompt really saves.
  [[nodiscard]] double saved_s(std::int64_t resident, std::int64_t cached,
                               std::int64_t prompt) const noexcept {
    return prefill_s(resident, prompt - resident) - prefill_s(cached, prompt - cached);
  }

private:
  friend class PolicyBuilder;
  friend class CurveTables;
  friend class RangeSearch;

  /// Value of new-column j at context c of cell q.
  [[nodiscard]] double column(int q, int j, double c) const noexcept {
    return m_step[q][j] + (c - m_context[q]) * m_slope[q][j];
  }
  /// A full chunk at context c.
  [[nodiscard]] double chunk_s(double c) const noexcept {
    return column(context_cell(c), m_news - 1, c);
  }
  /// Bounds of a full chunk at any context, from c on, up to c.
  [[nodiscard]] double least_chunk_s() const noexcept { return m_least_from[0]; }
  [[nodiscard]] double least_chunk_s(double c) const noexcept {
    const int q = context_cell(c);
    const double here = column(q, m_news - 1, c);
    return q + 1 < m_contexts && m_least_from[q + 1] < here ? m_least_from[q + 1] : here;
  }
  [[nodiscard]] double most_chunk_s(double c) const noexcept {
    const int q = context_cell(c);
    const double here = column(q, m_news - 1, c);
    return m_most_until[q] > here ? m_most_until[q] : here;
  }
  /// Whether a full chunk never gets cheaper with context.
  [[nodiscard]] bool chunk_rises() const noexcept { return m_chunk_rises; }
  /// How far below `context` the next point is at which a full chunk at that context, or any whole
  /// number of chunks away, crosses a measured context.
  [[nodiscard]] std::int64_t to_context_cut(std::int64_t context) const noexcept {
    const double residue = static_cast<double>(context - full_chunks(context) * m_chunk);
    int b = m_offsets - 1;
    while (b >= 0 && m_offset[b] >= residue)
      --b;
    const double offset =
        b >= 0 ? m_offset[b] : m_offset[m_offsets - 1] - static_cast<double>(m_chunk);
    return static_cast<std::int64_t>(residue - offset);
  }
  /// Of a prompt, when `fresh` tokens of it are computed: what each of up to `span` further
  /// computed tokens adds at least, in seconds; may be negative (a bound, not a rate).
  ///
  /// The remainder's step grows by m_least_rise while its context, and that of every full chunk,
  /// shifts down by one token, which saves no more than the steepest slope of the column does.
  [[nodiscard]] double least_rise_s(std::int64_t prompt, std::int64_t fresh,
                                    std::int64_t span) const noexcept {
    if (static_cast<double>(prompt) > last_context() && !m_edge_fans_out) return -1e9;
    const std::int64_t chunks = full_chunks(fresh), remainder = fresh - chunks * m_chunk;
    const std::int64_t lowest = prompt > m_chunk ? prompt - m_chunk : 0;
    const double context = static_cast<double>(lowest);
    const int q = context_cell(context, full_chunks(lowest)),
              above = q + 1 < m_contexts ? q + 1 : q;
    const double t = (context - m_context[q]) * m_inverse_gap[q];
    // Once the remainder is a whole chunk another one begins, and there is a chunk more to shift.
    const std::int64_t wraps = full_chunks(remainder + span - 1);
    const double average = m_least_average[q] + t * (m_least_average[above] - m_least_average[q]);
    const double wrapped = average - static_cast<double>(chunks + wraps) * m_steepest_chunk;
    if (remainder == 0) return wrapped;
    const int j = new_cell(static_cast<double>(remainder));
    const double rise = m_least_rise[q][j] + t * (m_least_rise[above][j] - m_least_rise[q][j]) -
                        m_steepest[j] - static_cast<double>(chunks) * m_steepest_chunk;
    return wraps == 0 || rise < wrapped ? rise : wrapped;
  }
  /// A cheaper, lower bound of least_rise_s, from the smallest context on.
  [[nodiscard]] double least_rise_anywhere_s(std::int64_t prompt, std::int64_t fresh,
                                             std::int64_t span) const noexcept {
    if (static_cast<double>(prompt) > last_context() && !m_edge_fans_out) return -1e9;
    const std::int64_t chunks = full_chunks(fresh), remainder = fresh - chunks * m_chunk;
    const std::int64_t wraps = full_chunks(remainder + span - 1);
    const double wrapped =
        m_least_average[0] - static_cast<double>(chunks + wraps) * m_steepest_chunk;
    if (remainder == 0) return wrapped;
    const int j = new_cell(static_cast<double>(remainder));
    const double rise =
        m_least_rise[0][j] - m_steepest[j] - static_cast<double>(chunks) * m_steepest_chunk;
    return rise < wrapped ? rise : wrapped;
  }
  [[nodiscard]] double inverse_chunk() const noexcept { return m_inverse_chunk; }

  // A table leads to the cell in which the token count's bucket begins; measured points mostly lie
  // on multiples of a bucket, so that the loop ends at once and is predicted.
  /// `whole`: full chunks in c.
  [[nodiscard]] int context_cell(double c, std::int64_t whole) const noexcept {
    int q = m_context_hint[whole < context_hints ? whole : context_hints - 1];
    while (c >= m_context_end[q])
      ++q;
    return q;
  }
  [[nodiscard]] int context_cell(double c) const noexcept {
    return context_cell(c, full_chunks(static_cast<std::int64_t>(c)));
  }
  [[nodiscard]] int new_cell(double n) const noexcept {
    const auto bucket = static_cast<std::int64_t>(n * m_inverse_chunk * new_hints);
    int j = m_new_hint[bucket < new_hints ? bucket : new_hints - 1];
    while (n >= m_new_end[j])
      ++j;
    return j;
  }

  /// A full chunk at context = whole * chunk + residue, at context - chunk, ... down to >= 0,
  /// summed: an arithmetic series inside the cell of `context`, plus the table for the cells below
  /// it.
  [[nodiscard]] double chunk_sum(std::int64_t whole, double residue, int interval) const noexcept {
    if (whole < 0) return 0;
    const double c = residue + static_cast<double>(whole * m_chunk);
    const int q = context_cell(c, whole);
    const Below& below = m_below[q * m_offsets + interval];
    const ChunkLine& line = m_chunk_line[q];
    const double count = static_cast<double>(whole) - below.count_less_1;
    return count * (line.at_0 + line.slope * (c - m_half_chunk * (count - 1))) + below.base +
           below.slope * residue;
  }
  [[nodiscard]] int offset_interval(double residue) const noexcept {
    int b = 0;
    for (int i = 1; i < m_offsets; ++i)
      b += residue >= m_offset[i] ? 1 : 0;
    return b;
  }
  /// A step of n tokens at context c of cell q.
  [[nodiscard]] double cell_s(int q, double c, double n) const noexcept {
    const int j = new_cell(n);
    const double at_j = column(q, j, c);
    return at_j + (n - m_new[j]) * m_inverse_width[j] * (column(q, j + 1, c) - at_j);
  }
  /// A full chunk in context cell q: at_0 + slope * context.
  struct ChunkLine {
    double at_0, slope;
  };

  /// Sum of the full chunks at residue, residue + chunk, ... below a context point, for residues
  /// of one interval: `count` of them, base + slope * residue.
  struct Below {
    double base, slope, count_less_1;
  };

  static constexpr int context_hints = 256, new_hints = 64;

  std::int64_t m_chunk = 0;
  bool m_chunk_rises = true;
  bool m_edge_fans_out = false; ///< beyond the last context, larger steps rise at least as fast
  int m_shift = -1;             ///< chunk = 1 << shift, or -1
  double m_inverse_chunk = 0, m_half_chunk = 0;
  int m_contexts = 0, m_news = 0, m_offsets = 0;
  double m_context[max_context_points] = {};
  double m_new[max_new_points] = {}; ///< first 0 (the limit of a step as new goes to 0), last chunk
  double m_context_end[max_context_points] = {}, m_new_end[max_new_points] = {}; ///< of a cell
  double m_inverse_gap[max_context_points] = {}; ///< between context points
  double m_inverse_width[max_new_points] = {};
  std::uint8_t m_context_hint[context_hints] = {}, m_new_hint[new_hints] = {};
  double m_step[max_context_points][max_new_points] = {};
  double m_slope[max_context_points][max_new_points] = {}; ///< per token of context, from q on
  /// For least_rise_s. Lower bounds per token at context point q and all above it: of what growing
  /// a step from cell j adds, and of a step's cost over its size. Steepest: slopes in context.
  double m_least_rise[max_context_points][max_new_points] = {};
  double m_least_average[max_context_points] = {};
  double m_steepest[max_new_points] = {}, m_steepest_chunk = 0;
  double m_least_from[max_context_points] = {}, m_most_until[max_context_points] = {};
  ChunkLine m_chunk_line[max_context_points] = {};
  double m_offset[max_context_points + 1] = {}; ///< distinct context points modulo chunk, ascending
  Below m_below[max_context_points * (max_context_points + 1)] = {};
};

} // namespace breakeven
