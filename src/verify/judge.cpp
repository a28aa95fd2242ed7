#include "verify/judge.hpp"

#include "support/units.hpp"
#include "verify/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace breakeven::verify {
namespace {

using profile::Verdict;

constexpr double least_noise = 0.01;
constexpr double least_difference = 0.02;
constexpr std::size_t enough_samples = 6; // for a 95 % interval of a median

/// measured / predicted at the lengths measured, in between by interpolation over log length.
class Correction {
public:
  void add(std::int64_t tokens, const Timing& timing) {
    if (timing.predicted_s > 0) m_ratio[tokens] = timing.measured.median / timing.predicted_s;
  }
  [[nodiscard]] double at(std::int64_t tokens) const {
    const auto above = m_ratio.lower_bound(tokens);
    if (above == m_ratio.begin()) return above->second;
    if (above == m_ratio.end()) return std::prev(above)->second;
    const auto below = std::prev(above);
    const double t =
        std::log(static_cast<double>(tokens) / static_cast<double>(below->first)) /
        std::log(static_cast<double>(above->first) / static_cast<double>(below->first));
    return below->second + t * (above->second - below->second);
  }

private:
  std::map<std::int64_t, double> m_ratio;
};

/// Smallest length from which loading wins at every longer one, by the predicted times corrected to
/// what was measured; 0 = it does not win at the longest.
std::int64_t measured_crossing(const profile::BreakEvenFile& file, const Forecast& forecast,
                               const std::vector<const Point*>& points) {
  Correction hit, recompute;
  for (const Point* point : points) {
    hit.add(point->question.cached, point->hit);
    recompute.add(point->question.cached, point->recompute);
  }
  const auto [shortest, longest] =
      std::minmax_element(file.calibrated_lengths.begin(), file.calibrated_lengths.end());
  const std::int64_t unit = file.model.block_tokens;
  std::int64_t crossing = 0;
  // A block at a time, or 1 % where that is more.
  for (std::int64_t tokens = *longest; tokens >= *shortest;
       tokens -= std::max(unit, tokens / 100 / unit * unit)) {
    const std::int64_t cached = loadable_near(file, static_cast<double>(tokens));
    if (cached < 1) break;
    const Question q{points.front()->question.tier, cached, cached + 1, Place::at};
    if (hit.at(cached) * forecast.hit_s(q) >=
        recompute.at(cached) * forecast.prefill_s(0, q.prompt))
      break;
    crossing = cached;
  }
  return crossing;
}

std::string listed(const std::vector<const Point*>& points) {
  std::string text;
  for (const Point* point : points)
    text += (text.empty() ? "" : ", ") + format_tokens(point->question.cached);
  return text;
}

struct Sorted {
  std::vector<const Point*> against, load, recompute, tie;
};

Sorted sort_points(const profile::BreakEven& claim, const std::vector<const Point*>& points) {
  Sorted sorted;
  for (const Point* point : points) {
    const Winner should = claimed(claim, point->question.cached);
    if (point->measured == Winner::tie)
      sorted.tie.push_back(point);
    else if (should != Winner::tie && should != point->measured)
      sorted.against.push_back(point);
    else if (point->measured == Winner::load)
      sorted.load.push_back(point);
    else
      sorted.recompute.push_back(point);
  }
  return sorted;
}

std::string moved_text(const Sorted& sorted) {
  std::string text;
  for (const Winner winner : {Winner::load, Winner::recompute}) {
    std::vector<const Point*> of;
    for (const Point* point : sorted.against)
      if (point->measured == winner) of.push_back(point);
    if (of.empty()) continue;
    text +=
        fmt::format("{}{} is faster at {} tokens, where the file says {}", text.empty() ? "" : "; ",
                    winner == Winner::load ? "loading" : "recomputing", listed(of),
                    winner == Winner::load ? "recompute" : "load");
  }
  return text;
}

/// What is missing for "confirmed", or nothing.
std::string missing(const profile::BreakEven& claim, const Sorted& sorted, std::int64_t shortest,
                    std::int64_t longest) {
  const auto too_close = [&](const char* side) {
    return sorted.tie.empty() ? fmt::format("nothing {} could be measured in the time", side)
                              : fmt::format("the two times are too close to tell {} (at {} tokens)",
                                            side, listed(sorted.tie));
  };
  switch (claim.verdict) {
  case Verdict::at:
    if (sorted.load.empty() && claim.tokens < longest) return too_close("above it");
    if (sorted.recompute.empty() && claim.tokens > shortest) return too_close("below it");
    return "";
  case Verdict::always:
    return sorted.load.empty() ? too_close("at any length") : "";
  case Verdict::never:
    return sorted.recompute.empty() ? too_close("at any length") : "";
  case Verdict::inconclusive:
  case Verdict::uncalibrated:
    return "the file itself says " + std::string(profile::to_string(claim.verdict));
  }
  return "";
}

} // namespace

const char* to_string(Place place) {
  switch (place) {
  case Place::below:
    return "just below";
  case Place::at:
    return "at";
  case Place::above:
    return "just above";
  case Place::shortest:
    return "shortest";
  case Place::between:
    return "between";
  case Place::longest:
    return "longest";
  case Place::partial:
    return "partial";
  case Place::further:
    return "further off";
  }
  return "";
}

const char* to_string(Winner winner) {
  return winner == Winner::load ? "load" : winner == Winner::recompute ? "recompute" : "tie";
}

const char* to_string(Outcome outcome) {
  switch (outcome) {
  case Outcome::confirmed:
    return "confirmed";
  case Outcome::moved:
    return "moved";
  case Outcome::cannot_say:
    return "cannot say";
  case Outcome::no_claim:
    return "no claim";
  }
  return "";
}

measure::MedianInterval interval_of(const std::vector<double>& samples, double noise) {
  measure::MedianInterval interval = measure::median_interval(samples);
  if (samples.empty() || samples.size() >= enough_samples) return interval;
  // About 95 % of a t distribution over the standard error of a median, by number of samples.
  constexpr double factor[] = {0, 5, 4, 3, 2.5, 2.2};
  const double count = static_cast<double>(samples.size());
  const double half =
      factor[samples.size()] * std::max(noise, least_noise) * interval.median / std::sqrt(count);
  interval.lo = std::max(0.0, std::min(interval.lo, interval.median - half));
  interval.hi = std::max(interval.hi, interval.median + half);
  return interval;
}

double usual_noise(const std::vector<const std::vector<double>*>& runs) {
  std::vector<double> known;
  for (const std::vector<double>* samples : runs)
    if (samples->size() >= 3) known.push_back(measure::relative_noise(*samples));
  return known.empty() ? 0.05 : std::max(least_noise, measure::median(known));
}

Winner faster(const Timing& hit, const Timing& recompute) {
  if (hit.samples_s.empty() || recompute.samples_s.empty()) return Winner::tie;
  const double load = hit.measured.median, again = recompute.measured.median;
  if (std::fabs(load - again) < least_difference * std::min(load, again)) return Winner::tie;
  if (hit.measured.hi < recompute.measured.lo) return Winner::load;
  if (recompute.measured.hi < hit.measured.lo) return Winner::recompute;
  return Winner::tie;
}

Winner claimed(const profile::BreakEven& claim, std::int64_t tokens) {
  switch (claim.verdict) {
  case Verdict::always:
    return Winner::load;
  case Verdict::never:
    return Winner::recompute;
  case Verdict::at:
    if (tokens < std::min(claim.lo_tokens, claim.tokens)) return Winner::recompute;
    if (claim.hi_tokens > 0 && tokens > claim.hi_tokens) return Winner::load;
    return Winner::tie;
  case Verdict::inconclusive:
  case Verdict::uncalibrated:
    return Winner::tie;
  }
  return Winner::tie;
}

TierReport judge(const profile::BreakEvenFile& file, const Forecast& forecast, std::size_t tier,
                 const std::vector<Point>& points) {
  const profile::Tier& row = file.tiers[tier];
  TierReport report{row.name, row.break_even, Outcome::cannot_say, "", 0, false};
  if (!row.load) {
    report.outcome = Outcome::no_claim;
    report.reason = row.reason;
    return report;
  }
  std::vector<const Point*> own;
  for (const Point& point : points)
    if (point.question.tier == tier && point.question.whole() && !point.hit.samples_s.empty() &&
        !point.recompute.samples_s.empty())
      own.push_back(&point);
  if (own.empty()) {
    report.reason = "nothing could be measured in the time: give a longer --budget";
    return report;
  }
  report.crossing_tokens = measured_crossing(file, forecast, own);
  report.crossing_known = true;
  const Sorted sorted = sort_points(row.break_even, own);
  if (!sorted.against.empty()) {
    report.outcome = Outcome::moved;
    report.reason = moved_text(sorted);
    return report;
  }
  const auto [shortest, longest] =
      std::minmax_element(file.calibrated_lengths.begin(), file.calibrated_lengths.end());
  report.reason = missing(row.break_even, sorted, *shortest, *longest);
  if (report.reason.empty()) report.outcome = Outcome::confirmed;
  return report;
}

} // namespace breakeven::verify
