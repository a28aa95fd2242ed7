#include "fit/fit.hpp"
#include "predict/predict.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace breakeven::predict {
namespace {

using profile::Measurement;
using profile::Verdict;

template <class Change>
void each_time(profile::Prefill& prefill, const Change& change) {
  for (Measurement& m : prefill.dense.seconds)
    change(m);
  for (profile::AttentionGrid& grid : prefill.attention)
    for (auto& row : grid.seconds)
      for (Measurement& m : row)
        change(m);
}

profile::BreakEvenFile solved_at(profile::BreakEvenFile file, double Measurement::*bound) {
  each_time(file.prefill, [&](Measurement& m) { m.median_s = m.lo_s = m.hi_s = m.*bound; });
  fit::BreakEvenOptions options;
  options.replicates = 0;
  fit::solve(file, options);
  return file;
}

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

std::int64_t length_of(const profile::BreakEven& answer) {
  return answer.verdict == Verdict::never ? never : answer.tokens;
}

/// `slow` recomputation makes loading win earlier, `fast` later.
profile::BreakEven merged(const profile::BreakEven& central, const profile::BreakEven& slow,
                          const profile::BreakEven& fast, std::int64_t smallest,
                          std::int64_t largest) {
  if (central.verdict == Verdict::uncalibrated) return central;
  const std::int64_t at = length_of(central);
  const std::int64_t lo = std::min(at, length_of(slow)), hi = std::max(at, length_of(fast));
  if (lo == hi) return central;
  profile::BreakEven result = central;
  result.lo_tokens = lo;
  result.hi_tokens = hi == never ? 0 : hi;
  if (at == never || (lo <= smallest && hi == never)) {
    result.verdict = Verdict::inconclusive;
    result.tokens = 0;
    result.reason = fmt::format(
        "within the range of utilisation assumed, loading may win from {} tokens or not at all up "
        "to {}: measure, or state a narrower range",
        format_tokens(lo), format_tokens(largest));
    return result;
  }
  result.verdict = Verdict::at;
  return result;
}

std::string winner(const profile::Estimate& load, const profile::Estimate& saved) {
  if (load.hi < saved.lo) return "load";
  if (load.lo > saved.hi) return "recompute";
  return "tie";
}

} // namespace

void solve_range(profile::BreakEvenFile& file) {
  const profile::BreakEvenFile central = solved_at(file, &Measurement::median_s);
  const profile::BreakEvenFile slow = solved_at(file, &Measurement::hi_s);
  const profile::BreakEvenFile fast = solved_at(file, &Measurement::lo_s);
  file.lengths = central.lengths;
  file.frontier = central.frontier;
  const std::int64_t smallest = file.calibrated_lengths.front();
  const std::int64_t largest = file.calibrated_lengths.back();
  for (std::size_t t = 0; t < file.tiers.size(); ++t)
    file.tiers[t].break_even = merged(central.tiers[t].break_even, slow.tiers[t].break_even,
                                      fast.tiers[t].break_even, smallest, largest);
  for (std::size_t i = 0; i < file.lengths.size(); ++i) {
    profile::Estimate& saved = file.lengths[i].saved_s;
    saved.lo = std::min(saved.value, fast.lengths[i].saved_s.value);
    saved.hi = std::max(saved.value, slow.lengths[i].saved_s.value);
    for (profile::TierAnswer& answer : file.lengths[i].tiers)
      answer.winner = winner(answer.load_s, saved);
  }
}

} // namespace breakeven::predict
