#include "fit/verdict.hpp"

#include "fit/prefix_search.hpp"
#include "support/units.hpp"

#include <algorithm>
#include <utility>

namespace breakeven::fit {

namespace {

struct Interval {
  std::int64_t lo = 0, hi = 0;
};

/// Holds `confidence` of the sorted lengths and, always, `central`.
Interval interval_of(const std::vector<std::int64_t>& sorted, std::int64_t central,
                     double confidence) {
  if (sorted.empty()) return {central, central};
  const auto left_out =
      static_cast<std::size_t>(static_cast<double>(sorted.size()) * (1 - confidence) / 2);
  return {std::min(central, sorted[left_out]),
          std::max(central, sorted[sorted.size() - 1 - left_out])};
}

std::string inconclusive_reason(const Interval& interval, const SearchedRange& range) {
  const std::string largest = format_tokens(range.largest) + " tokens";
  if (interval.lo <= range.smallest)
    return "the measurements allow any break-even length up to beyond " + largest +
           ": load and recompute take about the same time, or the machine was too noisy";
  return "loading does not win within " + largest + " by the medians, but may win from " +
         format_tokens(interval.lo) +
         " tokens by the spread of the samples: calibrate longer "
         "prefixes";
}

} // namespace

profile::BreakEven judge(std::int64_t central, std::vector<std::int64_t> lengths,
                         const SearchedRange& range, double confidence) {
  profile::BreakEven result;
  result.confidence = confidence;
  std::sort(lengths.begin(), lengths.end());
  const auto count_of = [&](std::int64_t length) {
    const auto [first, last] = std::equal_range(lengths.begin(), lengths.end(), length);
    return static_cast<double>(last - first);
  };
  const double enough = confidence * static_cast<double>(lengths.size());
  const Interval interval = interval_of(lengths, central, confidence);

  if (static_cast<double>(lengths.size()) < confidence * range.replicates) {
    result.verdict = profile::Verdict::inconclusive;
    result.lo_tokens = range.smallest;
    result.reason = "the load times are too noisy to tell the bandwidth: measure again on a "
                    "quieter machine";
  } else if (central == range.smallest && count_of(range.smallest) >= enough) {
    result.verdict = profile::Verdict::always;
    result.tokens = result.lo_tokens = result.hi_tokens = range.smallest;
  } else if (central == no_length && count_of(no_length) >= enough) {
    result.verdict = profile::Verdict::never;
  } else if (central == no_length || (interval.lo <= range.smallest && interval.hi == no_length)) {
    result.verdict = profile::Verdict::inconclusive;
    result.lo_tokens = interval.lo;
    result.hi_tokens = interval.hi == no_length ? 0 : interval.hi;
    result.reason = inconclusive_reason(interval, range);
  } else {
    result.verdict = profile::Verdict::at;
    result.tokens = central;
    result.lo_tokens = interval.lo;
    result.hi_tokens = interval.hi == no_length ? 0 : interval.hi;
  }
  return result;
}

} // namespace breakeven::fit
