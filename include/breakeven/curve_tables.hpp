#pragma once

#include "breakeven/step_curve.hpp"

#include <limits>

namespace breakeven {

/// Precomputes the tables of a StepCurve from its axes and values: what makes a query O(1).
class CurveTables {
public:
  /// `values`: seconds[context][new] on the curve's axes, row-major.
  CurveTables(StepCurve& curve, const double* values) noexcept : m_curve(curve), m_values(values) {}

  void derive() noexcept {
    derive_slopes();
    derive_hints();
    derive_chunk_bounds();
    derive_rises();
    derive_offsets();
    derive_sums();
  }

  /// Inserts into an ascending axis; false when it is full.
  static bool insert(double* axis, int& points, int limit, double value) noexcept {
    int i = points;
    while (i > 0 && axis[i - 1] > value)
      --i;
    if (i > 0 && axis[i - 1] == value) return true;
    if (points >= limit) return false;
    for (int k = points; k > i; --k)
      axis[k] = axis[k - 1];
    axis[i] = value;
    ++points;
    return true;
  }

private:
  void derive_slopes() noexcept {
    StepCurve& s = m_curve;
    for (int q = 0; q < s.m_contexts; ++q)
      for (int j = 0; j < s.m_news; ++j)
        s.m_step[q][j] = m_values[q * s.m_news + j];
    for (int j = 0; j + 1 < s.m_news; ++j)
      s.m_inverse_width[j] = 1 / (s.m_new[j + 1] - s.m_new[j]);
    const int last = s.m_contexts - 1;
    for (int q = 0; q < last; ++q)
      s.m_inverse_gap[q] = 1 / (s.m_context[q + 1] - s.m_context[q]);
    s.m_inverse_gap[last] = 0;
    for (int j = 0; j < s.m_news; ++j) {
      for (int q = 0; q < last; ++q)
        s.m_slope[q][j] =
            (s.m_step[q + 1][j] - s.m_step[q][j]) / (s.m_context[q + 1] - s.m_context[q]);
      const double edge = last > 0 ? s.m_slope[last - 1][j] : 0;
      s.m_slope[last][j] = edge > 0 ? edge : 0;
    }
    for (int q = 0; q <= last; ++q) {
      const double slope = s.m_slope[q][s.m_news - 1];
      s.m_chunk_line[q] = {s.m_step[q][s.m_news - 1] - slope * s.m_context[q], slope};
    }
  }

  /// The cell in which each bucket begins. Token counts are far from where rounding could put one
  /// into the next bucket: 1 / chunk >= 2^-40 against 2^-53.
  void derive_hints() noexcept {
    StepCurve& s = m_curve;
    for (int q = 0; q < s.m_contexts; ++q)
      s.m_context_end[q] = q + 1 < s.m_contexts ? s.m_context[q + 1] : endless;
    for (int j = 0; j + 1 < s.m_news; ++j)
      s.m_new_end[j] = j + 2 < s.m_news ? s.m_new[j + 1] : endless;
    for (int i = 0; i < StepCurve::context_hints; ++i) {
      const double begin = i * static_cast<double>(s.m_chunk);
      int q = 0;
      while (q + 1 < s.m_contexts && s.m_context[q + 1] <= begin)
        ++q;
      s.m_context_hint[i] = static_cast<std::uint8_t>(q);
    }
    for (int i = 0; i < StepCurve::new_hints; ++i) {
      const double begin = i * static_cast<double>(s.m_chunk) / StepCurve::new_hints;
      int j = 0;
      while (j + 2 < s.m_news && s.m_new[j + 1] <= begin)
        ++j;
      s.m_new_hint[i] = static_cast<std::uint8_t>(j);
    }
  }

  void derive_chunk_bounds() noexcept {
    StepCurve& s = m_curve;
    const int column = s.m_news - 1, last = s.m_contexts - 1;
    s.m_chunk_rises = true;
    for (int q = 0; q <= last; ++q) {
      const double here = s.m_step[q][column];
      const double before = q > 0 ? s.m_most_until[q - 1] : here;
      if (here < before) s.m_chunk_rises = false;
      s.m_most_until[q] = here > before ? here : before;
    }
    for (int q = last; q >= 0; --q) {
      const double here = s.m_step[q][column];
      const double after = q < last ? s.m_least_from[q + 1] : here;
      s.m_least_from[q] = here < after ? here : after;
    }
  }

  /// Slope of the flattest line from new-point j of row q to a later one.
  [[nodiscard]] double flattest(int q, int j) const noexcept {
    const StepCurve& s = m_curve;
    double least = 1e300;
    for (int k = j + 1; k < s.m_news; ++k) {
      const double slope = (s.m_step[q][k] - s.m_step[q][j]) / (s.m_new[k] - s.m_new[j]);
      least = slope < least ? slope : least;
    }
    return least;
  }
  void derive_rises() noexcept {
    StepCurve& s = m_curve;
    const int last = s.m_contexts - 1, end = s.m_news - 1;
    for (int q = last; q >= 0; --q) {
      double average = q < last ? s.m_least_average[q + 1] : 1e300;
      for (int j = 0; j < end; ++j) {
        // From anywhere in the cell: the flattest line begins at one of its ends.
        const double here = flattest(q, j), next = j + 1 < end ? flattest(q, j + 1) : here;
        double least = here < next ? here : next;
        if (q < last && s.m_least_rise[q + 1][j] < least) least = s.m_least_rise[q + 1][j];
        s.m_least_rise[q][j] = least;
        const double mean = s.m_step[q][j + 1] / s.m_new[j + 1];
        average = mean < average ? mean : average;
      }
      s.m_least_average[q] = average;
    }
    s.m_edge_fans_out = true;
    for (int j = 0; j < end; ++j) {
      if (s.m_slope[last][j + 1] < s.m_slope[last][j]) s.m_edge_fans_out = false;
      s.m_steepest[j] = 0;
      for (int q = 0; q <= last; ++q)
        for (int k = j; k <= j + 1; ++k)
          if (s.m_slope[q][k] > s.m_steepest[j]) s.m_steepest[j] = s.m_slope[q][k];
    }
    s.m_steepest_chunk = 0;
    for (int q = 0; q <= last; ++q)
      if (s.m_slope[q][end] > s.m_steepest_chunk) s.m_steepest_chunk = s.m_slope[q][end];
  }

  [[nodiscard]] double residue(double context) const noexcept {
    return static_cast<double>(static_cast<std::int64_t>(context) % m_curve.m_chunk);
  }
  void derive_offsets() noexcept {
    m_curve.m_offsets = 0;
    insert(m_curve.m_offset, m_curve.m_offsets, max_context_points + 1, 0);
    for (int q = 0; q < m_curve.m_contexts; ++q)
      insert(m_curve.m_offset, m_curve.m_offsets, max_context_points + 1,
             residue(m_curve.m_context[q]));
  }

  /// m_below[q][b]: the full chunks below context point q for residues of interval b. Going from
  /// cell to cell adds an arithmetic series whose length is the same for the whole interval.
  void derive_sums() noexcept {
    StepCurve& s = m_curve;
    const double chunk = static_cast<double>(s.m_chunk);
    const int j = s.m_news - 1;
    for (int b = 0; b < s.m_offsets; ++b) {
      StepCurve::Below sum{0, 0, -1};
      for (int q = 0; q < s.m_contexts; ++q) {
        if (q > 0) {
          const double whole =
              static_cast<double>(static_cast<std::int64_t>(s.m_context[q]) / s.m_chunk);
          const double until = whole + (s.m_offset[b] < residue(s.m_context[q]) ? 1 : 0);
          const double first = sum.count_less_1 + 1, more = until - first;
          const double slope = s.m_slope[q - 1][j];
          // Elements first .. until-1, each step + slope * (residue + k * chunk - context).
          const double last = until - 1;
          sum.base += more * (s.m_step[q - 1][j] - slope * s.m_context[q - 1]) +
                      slope * chunk * (first + last) * more * 0.5;
          sum.slope += more * slope;
          sum.count_less_1 = last;
        }
        s.m_below[q * s.m_offsets + b] = sum;
      }
    }
  }

  static constexpr double endless = std::numeric_limits<double>::infinity();
  StepCurve& m_curve;
  const double* m_values;
};

} // namespace breakeven
