#include "fit/fit.hpp"

#include "fit/interpolation.hpp"
#include "fit/resampler.hpp"
#include "support/error.hpp"

#include <cmath>
#include <functional>

namespace breakeven::fit {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw error(error_kind::bad_input, "prefill curve: " + what);
}

std::vector<double> ascending(const std::vector<std::int64_t>& knots, const std::string& what,
                              std::int64_t smallest) {
  if (knots.empty()) refuse(what + " are missing");
  std::vector<double> result;
  for (const std::int64_t knot : knots) {
    if (knot < smallest || (!result.empty() && static_cast<double>(knot) <= result.back()))
      refuse(what + " must ascend from at least " + std::to_string(smallest));
    result.push_back(static_cast<double>(knot));
  }
  return result;
}

std::vector<const profile::Measurement*> all_measurements(const profile::Prefill& prefill) {
  std::vector<const profile::Measurement*> all;
  for (const auto& m : prefill.dense.seconds)
    all.push_back(&m);
  for (const auto& grid : prefill.attention)
    for (const auto& row : grid.seconds)
      for (const auto& m : row)
        all.push_back(&m);
  return all;
}

double checked_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) refuse("a time is negative or not a number");
  return seconds;
}

using Value = std::function<double(const profile::Measurement&)>;

std::vector<double> row_of(const std::vector<profile::Measurement>& measurements, std::size_t size,
                           const std::string& what, const Value& value) {
  if (measurements.size() != size) refuse(what + " do not match their grid");
  std::vector<double> row;
  for (const profile::Measurement& m : measurements)
    row.push_back(checked_seconds(value(m)));
  return row;
}

} // namespace

PrefillCurve::PrefillCurve(const profile::Prefill& prefill, std::int64_t chunk_tokens,
                           const Value& value)
    : m_chunk_tokens(chunk_tokens) {
  if (chunk_tokens < 1) refuse("chunk_tokens must be at least 1");
  m_dense_new = ascending(prefill.dense.new_tokens, "the dense token counts", 1);
  m_dense_seconds =
      row_of(prefill.dense.seconds, m_dense_new.size(), "the dense measurements", value);
  for (const profile::AttentionGrid& source : prefill.attention) {
    Grid grid;
    grid.context = ascending(source.context_tokens, "the attention context lengths", 0);
    grid.new_tokens = ascending(source.new_tokens, "the attention token counts", 1);
    // Attention of no query takes no time: this row of zeros ends the grid at new = 0.
    grid.new_tokens.insert(grid.new_tokens.begin(), 0);
    if (source.seconds.size() != grid.context.size())
      refuse("the attention measurements do not match their grid");
    for (const auto& measured : source.seconds) {
      grid.seconds.push_back(0);
      const std::vector<double> row =
          row_of(measured, grid.new_tokens.size() - 1, "the attention measurements", value);
      grid.seconds.insert(grid.seconds.end(), row.begin(), row.end());
    }
    m_last_context = std::max(m_last_context, grid.context.back());
    m_grids.push_back(std::move(grid));
  }
}

PrefillCurve::PrefillCurve(const profile::Prefill& prefill, std::int64_t chunk_tokens)
    : PrefillCurve(prefill, chunk_tokens,
                   [](const profile::Measurement& m) { return m.median_s; }) {}

PrefillCurve::PrefillCurve(const profile::Prefill& prefill, std::int64_t chunk_tokens,
                           measure::Random& random)
    : PrefillCurve(prefill, chunk_tokens,
                   [resample = Resampler(all_measurements(prefill)),
                    &random](const profile::Measurement& m) { return resample(m, random); }) {}

double PrefillCurve::dense_s(double new_tokens) const {
  if (new_tokens <= m_dense_new.front() || m_dense_new.size() == 1) return m_dense_seconds.front();
  const Cell cell = locate(m_dense_new, new_tokens);
  return along(m_dense_seconds[cell.left], m_dense_seconds[cell.left + 1], cell.weight);
}

double PrefillCurve::attention_s(double context, double new_tokens) const {
  double sum = 0;
  for (const Grid& grid : m_grids) {
    const std::size_t width = grid.new_tokens.size(); // at least 2, as new = 0 is there
    const Cell column = locate(grid.new_tokens, new_tokens);
    const auto at_context = [&](std::size_t row) {
      const double* seconds = &grid.seconds[row * width + column.left];
      return along(seconds[0], seconds[1], column.weight);
    };
    if (grid.context.size() == 1 || context <= grid.context.front()) {
      sum += at_context(0);
      continue;
    }
    const Cell row = locate(grid.context, context);
    sum += along(at_context(row.left), at_context(row.left + 1), row.weight);
  }
  return sum;
}

double PrefillCurve::step_s(std::int64_t context, std::int64_t new_tokens) const {
  if (new_tokens <= 0) return 0;
  const double new_count = static_cast<double>(new_tokens);
  return dense_s(new_count) + attention_s(static_cast<double>(context), new_count);
}

double PrefillCurve::prefill_s(std::int64_t context, std::int64_t new_tokens) const {
  double sum = 0;
  while (new_tokens > m_chunk_tokens) {
    if (static_cast<double>(context) >= m_last_context) {
      // From here on each full step takes longer by the same amount: an arithmetic series.
      const std::int64_t steps = (new_tokens - 1) / m_chunk_tokens;
      const std::int64_t covered = steps * m_chunk_tokens;
      const double first = step_s(context, m_chunk_tokens);
      const double last = step_s(context + covered - m_chunk_tokens, m_chunk_tokens);
      sum += static_cast<double>(steps) * (first + last) / 2;
      context += covered;
      new_tokens -= covered;
      break;
    }
    sum += step_s(context, m_chunk_tokens);
    context += m_chunk_tokens;
    new_tokens -= m_chunk_tokens;
  }
  return sum + step_s(context, new_tokens);
}

double PrefillCurve::saved_s(std::int64_t resident, std::int64_t cached,
                             std::int64_t prompt) const {
  if (cached <= resident) return 0;
  return prefill_s(resident, prompt - resident) - prefill_s(cached, prompt - cached);
}

std::vector<std::int64_t> PrefillCurve::new_knots() const {
  std::vector<double> all = m_dense_new;
  for (const Grid& grid : m_grids)
    all.insert(all.end(), grid.new_tokens.begin(), grid.new_tokens.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return {all.begin(), all.end()};
}

std::vector<std::int64_t> PrefillCurve::context_knots() const {
  std::vector<double> all;
  for (const Grid& grid : m_grids)
    all.insert(all.end(), grid.context.begin(), grid.context.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return {all.begin(), all.end()};
}

} // namespace breakeven::fit
