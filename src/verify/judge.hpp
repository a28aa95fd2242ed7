#pragma once

#include "verify/forecast.hpp"
#include "verify/report.hpp"

#include <vector>

/// From measured times to verdicts. Pure functions: no clock, no I/O.
namespace breakeven::verify {

/// The median with an interval that can be trusted: order statistics from 6 samples on; with fewer,
/// their range widened by `noise`, the relative spread usual in this run.
measure::MedianInterval interval_of(const std::vector<double>& samples, double noise);

/// Relative standard deviation usual among runs with samples enough to tell; never below 1 %.
double usual_noise(const std::vector<const std::vector<double>*>& runs);

/// Which way was faster: a tie unless the intervals are apart and the medians differ by 2 %.
Winner faster(const Timing& hit, const Timing& recompute);

/// What the claim says of a prefix of `tokens`: a tie inside its interval.
Winner claimed(const profile::BreakEven& claim, std::int64_t tokens);

/// Does the claim of file.tiers[tier] hold at the points measured? Only whole hits decide; those of
/// other tiers are ignored.
TierReport judge(const profile::BreakEvenFile& file, const Forecast& forecast, std::size_t tier,
                 const std::vector<Point>& points);

} // namespace breakeven::verify
