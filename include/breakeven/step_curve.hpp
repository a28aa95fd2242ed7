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
  [[nodiscard]] bool empty() const noexcept { return m_contexts == 0; }
  /// Largest measured context.
  [[nodiscard]] double last_context() const noexcept {
    return m_contexts == 0 ? 0 : m_context[m_contexts - 1];
  }

  /// One step over `fresh` tokens (1..chunk_tokens) that attend to `context` cached ones.
  [[nodiscard]] double step_s(std::int64_t context, std::int64_t fresh) const noexcept {
    if (empty() || fresh <= 0) return 0;
    const double c = static_cast<double>(context), n = static_cast<double>(fresh);
    const int q = context_cell(c), j = new_cell(n);
    const double at_j = column(q, j, c);
    return at_j + (n - m_new[j]) * m_inverse_width[j] * (column(q, j + 1, c) - at_j);
  }

  /// Sum of the steps that cover `fresh` tokens after `context`, chunk_tokens at a time. O(1).
  [[nodiscard]] double prefill_s(std::int64_t context, std::int64_t fresh) const noexcept {
    if (empty() || fresh <= 0) return 0;
    const std::int64_t chunks = fresh / m_chunk, rest = fresh - chunks * m_chunk;
    double total = 0;
    if (chunks == 1)
      total = chunk_s(static_cast<double>(context));
    else if (chunks > 1)
      total = chunk_sum(context + (chunks - 1) * m_chunk) - chunk_sum(context - m_chunk);
    return rest == 0 ? total : total + step_s(context + chunks * m_chunk, rest);
  }

  /// What loading [resident, cached) of a prompt really saves.
  [[nodiscard]] double saved_s(std::int64_t resident, std::int64_t cached,
                               std::int64_t prompt) const noexcept {
    return prefill_s(resident, prompt - resident) - prefill_s(cached, prompt - cached);
  }

private:
  friend class PolicyBuilder;
  friend class SplitSearch;

  /// Value of new-column j at context c of cell q.
  [[nodiscard]] double column(int q, int j, double c) const noexcept {
    return m_step[q][j] + (c - m_context[q]) * m_slope[q][j];
  }
  /// A full chunk at context c.
  [[nodiscard]] double chunk_s(double c) const noexcept {
    return column(context_cell(c), m_news - 1, c);
  }
  [[nodiscard]] int context_cell(double c) const noexcept {
    int q = 0;
    while (q + 1 < m_contexts && c >= m_context[q + 1])
      ++q;
    return q;
  }
  [[nodiscard]] int new_cell(double n) const noexcept {
    int j = 0;
    while (j + 2 < m_news && n >= m_new[j + 1])
      ++j;
    return j;
  }

  /// A full chunk at context, context - chunk, context - 2 chunk, ... down to >= 0, summed: an
  /// arithmetic series inside the cell of `context`, plus the table for the cells below it.
  [[nodiscard]] double chunk_sum(std::int64_t context) const noexcept {
    if (context < 0) return 0;
    const std::int64_t whole = context / m_chunk;
    const double residue = static_cast<double>(context - whole * m_chunk);
    const double c = static_cast<double>(context);
    const int q = context_cell(c), j = m_news - 1;
    int b = 0;
    while (b + 1 < m_offsets && residue >= m_offset[b + 1])
      ++b;
    const Below& below = m_below[q * m_offsets + b];
    const double count = static_cast<double>(whole + 1) - below.count;
    return count * column(q, j, c) -
           m_slope[q][j] * static_cast<double>(m_chunk) * (count * (count - 1) * 0.5) + below.base +
           below.slope * residue;
  }

  /// Sum of the full chunks at residue, residue + chunk, ... below a context point, for residues
  /// of one interval: `count` of them, base + slope * residue.
  struct Below {
    double base, slope, count;
  };

  std::int64_t m_chunk = 0;
  int m_contexts = 0, m_news = 0, m_offsets = 0;
  double m_context[max_context_points] = {};
  double m_new[max_new_points] = {}; ///< first 0 (the limit of a step as new goes to 0), last chunk
  double m_inverse_width[max_new_points] = {};
  double m_step[max_context_points][max_new_points] = {};
  double m_slope[max_context_points][max_new_points] = {}; ///< per token of context, from q on
  double m_offset[max_context_points + 1] = {}; ///< distinct context points modulo chunk, ascending
  Below m_below[max_context_points * (max_context_points + 1)] = {};
};

} // namespace breakeven
