#include "report/file_curves.hpp"

#include "support/error.hpp"

#include <algorithm>
#include <cmath>

namespace breakeven::report {
namespace {

/// A file can ask for a prefix of 2^60 tokens in steps of one: a picture is not worth the wait.
constexpr std::int64_t most_steps = std::int64_t{1} << 16;

fit::LoadFit constants(const profile::LoadModel& load) {
  fit::LoadFit fit{load.fixed_s.value, load.piece_s.value,
                   load.bandwidth.front().bandwidth_Bps.value, 0, 0};
  if (load.knee) {
    fit.knee_bytes = static_cast<double>(load.knee->piece_bytes);
    fit.below_s_per_byte = load.knee->below_s_per_byte.value;
  }
  return fit;
}

} // namespace

void RelativeInterval::add(double length, const profile::Estimate& estimate) {
  if (!(estimate.value > 0) || !(length > 0)) return;
  const double log_length = std::log(length);
  if (!m_ratios.empty() && log_length <= m_ratios.back().log_length) return;
  m_ratios.push_back({log_length, estimate.lo / estimate.value, estimate.hi / estimate.value});
}

profile::Estimate RelativeInterval::around(double length, double value) const {
  if (m_ratios.empty()) return {value, value, value};
  const double at = std::log(std::max(1.0, length));
  const auto above = std::lower_bound(m_ratios.begin(), m_ratios.end(), at,
                                      [](const Ratio& r, double x) { return r.log_length < x; });
  if (above == m_ratios.begin()) return {value, value * above->lo, value * above->hi};
  const Ratio& left = *(above - 1);
  if (above == m_ratios.end()) return {value, value * left.lo, value * left.hi};
  const double share = (at - left.log_length) / (above->log_length - left.log_length);
  return {value, value * std::lerp(left.lo, above->lo, share),
          value * std::lerp(left.hi, above->hi, share)};
}

FileCurves::FileCurves(const profile::BreakEvenFile& file)
    : m_file(file), m_loads(file.tiers.size()), m_load_intervals(file.tiers.size()) {
  if (longest() / std::max<std::int64_t>(1, file.model.chunk_tokens) > most_steps)
    m_reason = "its lengths take too many steps to draw";
  else
    try {
      m_prefill.emplace(file.prefill, file.model.chunk_tokens);
      static_cast<void>(fit::kv_bytes(file.model, longest()));
    } catch (const error& failure) {
      m_reason = failure.what();
    }
  for (std::size_t t = 0; t < file.tiers.size(); ++t) {
    if (!file.tiers[t].load || !m_reason.empty()) continue;
    m_loads[t] = constants(*file.tiers[t].load);
    for (const profile::LengthAnswer& answer : file.lengths)
      for (const profile::TierAnswer& row : answer.tiers)
        if (row.tier == file.tiers[t].name)
          m_load_intervals[t].add(static_cast<double>(answer.prefix_tokens), row.load_s);
  }
  for (const profile::LengthAnswer& answer : file.lengths)
    m_saved.add(static_cast<double>(answer.prefix_tokens), answer.saved_s);
}

std::vector<std::int64_t> FileCurves::lengths(int per_octave) const {
  std::vector<std::int64_t> result = m_file.calibrated_lengths;
  const double first = static_cast<double>(shortest());
  const double octaves = std::log2(static_cast<double>(longest()) / first);
  const int steps = std::max(1, static_cast<int>(octaves * per_octave));
  for (int i = 0; i < steps; ++i)
    result.push_back(std::llround(first * std::exp2(octaves * i / steps)));
  for (const profile::Tier& tier : m_file.tiers) {
    const std::int64_t at = tier.break_even.tokens;
    if (tier.break_even.verdict == profile::Verdict::at && at > shortest() && at < longest())
      result.push_back(at);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

double FileCurves::kv_bytes(std::int64_t tokens) const {
  return static_cast<double>(
      fit::kv_bytes(m_file.model, fit::loadable_tokens(m_file.model, tokens)));
}

double FileCurves::pieces(std::size_t tier, std::int64_t tokens) const {
  return static_cast<double>(
      fit::pieces(m_file.tiers[tier].layout, fit::loadable_tokens(m_file.model, tokens)));
}

profile::Estimate FileCurves::saved_s(std::int64_t tokens) const {
  const std::int64_t loadable = fit::loadable_tokens(m_file.model, tokens);
  const double value = std::max(0.0, m_prefill->saved_s(0, loadable, tokens + 1));
  return m_saved.around(static_cast<double>(tokens), value);
}

profile::Estimate FileCurves::load_s(std::size_t tier, std::int64_t tokens) const {
  const double value = m_loads[tier]->seconds(kv_bytes(tokens), pieces(tier, tokens));
  return m_load_intervals[tier].around(static_cast<double>(tokens), value);
}

double FileCurves::pieces_s(std::size_t tier, double bytes, double piece_bytes) const {
  return m_loads[tier]->seconds(bytes, std::ceil(bytes / piece_bytes));
}

std::optional<double> FileCurves::needed_Bps(std::size_t tier, std::int64_t tokens) const {
  fit::LoadFit costs = *m_loads[tier];
  const double bytes = kv_bytes(tokens), count = pieces(tier, tokens);
  const double below = std::min(bytes, count * costs.knee_bytes);
  const double left = saved_s(tokens).value - costs.fixed_s - count * costs.piece_s -
                      below * costs.below_s_per_byte;
  if (!(left > 0) || !(bytes > below)) return std::nullopt;
  return (bytes - below) / left;
}

} // namespace breakeven::report
