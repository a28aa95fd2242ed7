#pragma once

#include "measure/statistics.hpp"

#include <span>
#include <vector>

/// Significance tests. Internal to the room.
namespace breakeven::compare {

/// Two-sided p of the Mann-Whitney rank test: exact by enumeration for few samples, normal with
/// correction for ties and continuity for many. Source: W. J. Conover, Practical Nonparametric
/// Statistics, section 5.1. -1 when even the clearest order of so few samples is no evidence at
/// the 5 % level.
double rank_test_p(std::span<const double> a, std::span<const double> b);

/// Two-sided p of `z` under a standard normal.
double normal_p(double z);

/// Holm's step-down correction: p values that hold for all of them together.
std::vector<double> holm(const std::vector<double>& p);

/// Standard deviation of the logarithm of the median, by bootstrap. 0 for fewer than 2 samples.
double log_median_deviation(std::span<const double> samples, int replicates,
                            measure::Random& random);

} // namespace breakeven::compare
