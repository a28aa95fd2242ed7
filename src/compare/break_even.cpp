#include "compare/pairs.hpp"

#include "fit/fit.hpp"
#include "measure/statistics.hpp"
#include "support/error.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace breakeven::compare {
namespace {

using namespace profile;

constexpr double endless = std::numeric_limits<double>::infinity();

/// Lengths that the true break-even length may have: "always" reaches down to 0, "never" up from
/// the longest calibrated length.
struct Range {
  double lo = 0, hi = endless;
};

void hold(Range& range, const BreakEven& answer, const std::vector<std::int64_t>& calibrated) {
  const double smallest = static_cast<double>(calibrated.front()),
               largest = static_cast<double>(calibrated.back());
  Range more;
  if (answer.verdict == profile::Verdict::always) more = {0, smallest};
  if (answer.verdict == profile::Verdict::never) more = {largest, endless};
  if (answer.verdict == profile::Verdict::at) {
    const double lo = static_cast<double>(answer.lo_tokens);
    more.lo = lo <= smallest ? 0 : lo;
    if (answer.hi_tokens > 0) more.hi = static_cast<double>(answer.hi_tokens);
  }
  range.lo = std::min(range.lo, more.lo);
  range.hi = std::max(range.hi, more.hi);
}

/// The break-even length by the medians if every load took `factor` times as long.
BreakEven solved_with(const BreakEvenFile& file, const Tier& tier, double factor) {
  BreakEvenFile scaled;
  scaled.model = file.model;
  scaled.prefill = file.prefill;
  scaled.calibrated_lengths = file.calibrated_lengths;
  Tier slow = tier;
  slow.sweep.clear(); // its fit would be made again
  LoadModel& load = *slow.load;
  load.fixed_s.value *= factor;
  load.piece_s.value *= factor;
  for (BandwidthPoint& point : load.bandwidth)
    point.bandwidth_Bps.value /= factor;
  if (load.knee) load.knee->below_s_per_byte.value *= factor;
  scaled.tiers = {slow};
  fit::BreakEvenOptions options;
  options.replicates = 0;
  fit::solve(scaled, options);
  BreakEven answer = scaled.tiers.front().break_even;
  if (answer.verdict == profile::Verdict::at) answer.lo_tokens = answer.hi_tokens = answer.tokens;
  return answer;
}

/// The file's own interval, and how far drift between runs would move the crossing.
Range range_of(const BreakEvenFile& file, const Tier& tier, const Options& options) {
  Range range{endless, 0};
  hold(range, tier.break_even, file.calibrated_lengths);
  const double drift = measure::normal_z(0.5 + options.confidence / 2) *
                       std::hypot(options.run_to_run.load, options.run_to_run.compute);
  if (tier.load && drift > 0) try {
      for (const double factor : {std::exp(drift), std::exp(-drift)})
        if (const BreakEven shifted = solved_with(file, tier, factor);
            shifted.verdict != profile::Verdict::uncalibrated)
          hold(range, shifted, file.calibrated_lengths);
    } catch (const error&) { // imported curves need not be solvable; their interval stands alone
    }
  return range;
}

std::string words(const BreakEven& answer, const std::vector<std::int64_t>& calibrated) {
  switch (answer.verdict) {
  case profile::Verdict::at:
    return format_tokens(answer.tokens) + " tokens";
  case profile::Verdict::always:
    return "always";
  case profile::Verdict::never:
    return "never up to " + format_tokens(calibrated.back());
  case profile::Verdict::inconclusive:
    return "inconclusive";
  case profile::Verdict::uncalibrated:
    return "uncalibrated";
  }
  return "";
}

Side side_of(const BreakEvenFile& file, const Tier& tier, const Range& range) {
  Side side;
  side.text = words(tier.break_even, file.calibrated_lengths);
  side.present = tier.break_even.verdict == profile::Verdict::at;
  if (!side.present) return side;
  side.value = static_cast<double>(tier.break_even.tokens);
  side.lo = range.lo;
  side.hi = std::isfinite(range.hi) ? range.hi : 0;
  return side;
}

/// Empty, or why no length of this tier can be compared.
std::string unusable(const BreakEven& answer, const char* which) {
  if (answer.verdict == profile::Verdict::uncalibrated)
    return fmt::format("uncalibrated in {}: {}", which, answer.reason);
  if (answer.verdict == profile::Verdict::inconclusive)
    return fmt::format("inconclusive in {}: {}", which, answer.reason);
  return "";
}

class LengthJudge {
public:
  LengthJudge(const BreakEvenFile& base, const BreakEvenFile& next, const Options& options)
      : m_base(base), m_next(next), m_options(options) {}

  Quantity judge(const Tier& base, const Tier& next, const std::string& blocked) const {
    Quantity quantity;
    quantity.group = "tier " + base.name;
    quantity.name = "break-even length";
    quantity.unit = Unit::tokens;
    const Range a = range_of(m_base, base, m_options), b = range_of(m_next, next, m_options);
    quantity.base = side_of(m_base, base, a);
    quantity.next = side_of(m_next, next, b);
    quantity.reason = blocked;
    for (const auto& reason : {unusable(base.break_even, "BASE"), unusable(next.break_even, "NEW")})
      if (quantity.reason.empty()) quantity.reason = reason;
    if (quantity.reason.empty()) compare(quantity, base.break_even, next.break_even, a, b);
    return quantity;
  }

private:
  void compare(Quantity& quantity, const BreakEven& base, const BreakEven& next, const Range& a,
               const Range& b) const {
    const bool apart = a.hi < b.lo || b.hi < a.lo;
    if (base.verdict != next.verdict) {
      quantity.verdict = apart ? Verdict::changed : Verdict::inconclusive;
      quantity.reason =
          apart ? "the answer is another one" : "the answers differ, but their intervals overlap";
      return;
    }
    quantity.verdict = Verdict::same;
    if (base.verdict != profile::Verdict::at) {
      if (m_base.calibrated_lengths.back() != m_next.calibrated_lengths.back() &&
          base.verdict == profile::Verdict::never)
        quantity.reason = "the longest calibrated prefixes differ";
      return;
    }
    quantity.compared = true;
    quantity.ratio = static_cast<double>(next.tokens) / static_cast<double>(base.tokens);
    quantity.ratio_lo = std::isfinite(a.hi) && a.hi > 0 ? b.lo / a.hi : 0;
    quantity.ratio_hi = a.lo > 0 && std::isfinite(b.hi) ? b.hi / a.lo : 0;
    if (apart && std::abs(quantity.ratio - 1) > m_options.threshold) {
      quantity.verdict = Verdict::changed;
      quantity.reason = next.tokens > base.tokens ? "loading wins from longer prefixes only"
                                                  : "loading wins from shorter prefixes on";
    }
  }

  const BreakEvenFile &m_base, &m_next;
  const Options& m_options;
};

} // namespace

std::vector<Quantity> judge_break_even(const BreakEvenFile& base, const BreakEvenFile& next,
                                       const std::vector<Difference>& differences,
                                       const Options& options) {
  std::string blocked = blocked_by(differences, "model");
  if (blocked.empty() && base.model.chunk_tokens != next.model.chunk_tokens)
    blocked = fmt::format("not comparable: steps of up to {} tokens in BASE and {} in NEW",
                          base.model.chunk_tokens, next.model.chunk_tokens);
  std::vector<Quantity> quantities;
  const LengthJudge lengths(base, next, options);
  for (const Tier& tier : base.tiers) {
    const Tier* other = tier_named(next, tier.name);
    if (!other || (!tier.load && !other->load)) continue;
    const std::string by_tier = blocked_by(differences, tier.name);
    quantities.push_back(lengths.judge(tier, *other, blocked.empty() ? by_tier : blocked));
  }
  return quantities;
}

} // namespace breakeven::compare
