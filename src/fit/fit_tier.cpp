#include "fit/fit.hpp"

#include "fit/load_regression.hpp"
#include "support/error.hpp"
#include "support/units.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

namespace breakeven::fit {

namespace {

using Points = std::vector<profile::SweepPoint>;

Points select(const Points& sweep, std::int64_t in_flight, bool holdout) {
  Points chosen;
  for (const profile::SweepPoint& point : sweep)
    if (point.in_flight == in_flight && point.holdout == holdout) chosen.push_back(point);
  return chosen;
}

std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %%", 100 * ratio);
  return text;
}

std::string describe(const profile::SweepPoint& point) {
  return format_bytes(static_cast<double>(point.bytes)) + " in " + std::to_string(point.pieces) +
         (point.pieces == 1 ? " piece" : " pieces");
}

[[noreturn]] void fail(const std::string& reason) {
  throw error(error_kind::measurement, reason);
}

double relative_error(const LoadFit& fit, const profile::SweepPoint& point) {
  return std::abs(fit.load_s(point.bytes, point.pieces) - point.seconds.median_s) /
         point.seconds.median_s;
}

/// The part of that error which the point's own interval does not explain: a load that was measured
/// within 20 % cannot show that the model is 10 % off.
double unexplained_error(const LoadFit& fit, const profile::SweepPoint& point) {
  const double load_s = fit.load_s(point.bytes, point.pieces);
  const profile::Measurement& m = point.seconds;
  const double nearest =
      std::clamp(load_s, std::min(m.lo_s, m.median_s), std::max(m.hi_s, m.median_s));
  return std::abs(load_s - nearest) / m.median_s;
}

struct Holdout {
  std::vector<double> errors;
  double unexplained = 0; ///< largest
  std::size_t worst = 0;  ///< where
  void add(const LoadFit& fit, const profile::SweepPoint& point) {
    errors.push_back(relative_error(fit, point));
    const double beyond = unexplained_error(fit, point);
    if (beyond <= unexplained) return;
    unexplained = beyond;
    worst = errors.size() - 1;
  }
};

/// Errors at the points kept out of the fit; without such points, each point is left out in turn.
Holdout holdout_errors(const LoadFit& fit, const Points& fitted, const Points& held_out) {
  Holdout result;
  for (const profile::SweepPoint& point : held_out) {
    if (!(point.seconds.median_s > 0) || !std::isfinite(point.seconds.median_s))
      fail("the held-out load of " + describe(point) + " has no positive time");
    result.add(fit, point);
  }
  if (held_out.empty())
    for (std::size_t i = 0; i < fitted.size(); ++i) {
      Points rest = fitted;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      const auto without = LoadRegression(rest, fit.knee_bytes).central();
      if (!without) fail("the bandwidth hangs on the single load of " + describe(fitted[i]));
      result.add(*without, fitted[i]);
    }
  return result;
}

/// 1 / bandwidth of loads that run together, with the constants that they have alone: least
/// squares in the one unknown, weighted for relative error. Not positive = not determined.
double shared_seconds_per_byte(const LoadFit& alone, const Points& points,
                               const std::vector<double>& seconds) {
  double covariance = 0, variance = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double piece_count = static_cast<double>(points[i].pieces);
    const double bytes = static_cast<double>(points[i].bytes);
    const double below = std::min(bytes, piece_count * alone.knee_bytes);
    const double per_byte = (bytes - below) / seconds[i];
    const double rest = alone.seconds(below, piece_count) / seconds[i];
    covariance += per_byte * (1 - rest);
    variance += per_byte * per_byte;
  }
  return variance > 0 ? covariance / variance : 0;
}

void require_below_ceiling(const Points& sweep, double ceiling_Bps) {
  if (!(ceiling_Bps > 0)) return;
  for (const profile::SweepPoint& point : sweep) {
    // All loads in flight together share the link.
    const double rate = static_cast<double>(point.bytes) * static_cast<double>(point.in_flight) /
                        point.seconds.median_s;
    if (rate > ceiling_Bps)
      fail("a load of " + describe(point) + " ran at " + format_rate(rate) +
           ", above the limit of " + format_rate(ceiling_Bps) +
           " of its link: the bytes did not come from this tier");
  }
}

struct Fitted {
  LoadFit central;
  std::vector<LoadFit> replicates;
};

Fitted fit_alone(const Points& points, const LoadModelOptions& options, measure::Random& random) {
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  for (const profile::SweepPoint& point : points)
    shapes.emplace(point.bytes, point.pieces);
  if (shapes.size() < 3)
    fail("only " + std::to_string(shapes.size()) +
         " different loads were measured one at a time; a load model needs 3");
  const LoadRegression regression =
      options.piecewise ? choose_regression(points) : LoadRegression(points);
  Fitted fitted;
  fitted.central = regression.knee_bytes() > 0 ? *regression.central() : fit_load(points);
  for (int i = 0; i < options.replicates; ++i)
    if (const auto replicate = regression.replicate(random))
      fitted.replicates.push_back(*replicate);
  if (static_cast<double>(fitted.replicates.size()) < options.confidence * options.replicates)
    fail("the load times are too noisy to tell the bandwidth: measure again on a quieter machine");
  return fitted;
}

profile::Estimate estimate_of(const Fitted& fitted, double LoadFit::*member, double confidence) {
  std::vector<double> values;
  for (const LoadFit& replicate : fitted.replicates)
    values.push_back(replicate.*member);
  return estimate(fitted.central.*member, values, confidence);
}

profile::BandwidthPoint shared_bandwidth(const Fitted& fitted, const Points& points,
                                         std::int64_t in_flight, const LoadModelOptions& options,
                                         measure::Random& random) {
  std::vector<const profile::Measurement*> measurements;
  std::vector<double> seconds;
  for (const profile::SweepPoint& point : points) {
    if (!(point.seconds.median_s > 0) || !std::isfinite(point.seconds.median_s) || point.bytes <= 0)
      fail("the load of " + describe(point) + " with " + std::to_string(in_flight) +
           " in flight has no positive time or size");
    measurements.push_back(&point.seconds);
    seconds.push_back(point.seconds.median_s);
  }
  const double per_byte = shared_seconds_per_byte(fitted.central, points, seconds);
  if (!(per_byte > 0))
    fail("loads with " + std::to_string(in_flight) +
         " in flight took less than the fixed cost of one alone: the measurements disagree");
  const Resampler resample(measurements);
  std::vector<double> replicates;
  for (const LoadFit& alone : fitted.replicates) {
    for (std::size_t i = 0; i < points.size(); ++i)
      seconds[i] = resample(points[i].seconds, random);
    const double drawn = shared_seconds_per_byte(alone, points, seconds);
    if (drawn > 0) replicates.push_back(1 / drawn);
  }
  return {in_flight, estimate(1 / per_byte, replicates, options.confidence)};
}

profile::LoadModel model_of(const profile::Tier& tier, const LoadModelOptions& options) {
  measure::Random random(options.seed);
  const Points points = select(tier.sweep, 1, false);
  const Fitted fitted = fit_alone(points, options, random);

  profile::LoadModel load;
  load.fixed_s = estimate_of(fitted, &LoadFit::fixed_s, options.confidence);
  load.piece_s = estimate_of(fitted, &LoadFit::piece_s, options.confidence);
  if (fitted.central.knee_bytes > 0)
    load.knee =
        profile::PieceKnee{std::llround(fitted.central.knee_bytes),
                           estimate_of(fitted, &LoadFit::below_s_per_byte, options.confidence)};
  load.bandwidth.push_back({1, estimate_of(fitted, &LoadFit::bandwidth_Bps, options.confidence)});
  std::set<std::int64_t> depths;
  for (const profile::SweepPoint& point : tier.sweep)
    if (point.in_flight > 1 && !point.holdout) depths.insert(point.in_flight);
  for (const std::int64_t depth : depths)
    load.bandwidth.push_back(
        shared_bandwidth(fitted, select(tier.sweep, depth, false), depth, options, random));

  require_below_ceiling(tier.sweep, options.ceiling_Bps);
  if (options.ceiling_Bps > 0 && load.bandwidth.front().bandwidth_Bps.lo > options.ceiling_Bps)
    fail("the fitted bandwidth of " + format_rate(fitted.central.bandwidth_Bps) +
         " is above the limit of " + format_rate(options.ceiling_Bps) + " of its link");

  const Points held_out = select(tier.sweep, 1, true);
  const Holdout holdout = holdout_errors(fitted.central, points, held_out);
  load.holdout_median_error = measure::median(holdout.errors);
  load.holdout_worst_error = *std::max_element(holdout.errors.begin(), holdout.errors.end());
  if (!(holdout.unexplained <= options.max_holdout_error))
    fail("the load model misses the load of " +
         describe(held_out.empty() ? points[holdout.worst] : held_out[holdout.worst]) + " by " +
         percent(holdout.unexplained) + " more than its noise explains; " +
         percent(options.max_holdout_error) + " are allowed");
  return load;
}

} // namespace

void fit_tier(profile::Tier& tier, const LoadModelOptions& options) {
  tier.load.reset();
  if (tier.status == "uncalibrated" && !tier.reason.empty()) return; // disqualified before the fit
  try {
    tier.load = model_of(tier, options);
    tier.status = "calibrated";
    tier.reason.clear();
  } catch (const error& failure) {
    tier.status = "uncalibrated";
    tier.reason = failure.what();
  }
}

} // namespace breakeven::fit
