#pragma once

#include "measure/statistics.hpp"
#include "profile/profile.hpp"

#include <vector>

/// Bootstrap draws of sampled and of fitted values. Internal to the room.
namespace breakeven::fit {

/// A value whose `confidence` interval is [lo, hi]: a normal with a width of its own on each side.
double draw_between(double value, double lo, double hi, double confidence, measure::Random& random);

/// A standard normal draw.
double draw_normal(measure::Random& random);

/// Draws medians of measurements. Six samples or more are resampled with replacement. Fewer say
/// little about their own spread, so they get the spread that their neighbours show, if that is
/// wider.
class Resampler {
public:
  explicit Resampler(const std::vector<const profile::Measurement*>& neighbours);
  double operator()(const profile::Measurement& measurement, measure::Random& random) const;
  /// Relative standard deviation of the median of `measurement`.
  [[nodiscard]] double relative_deviation(const profile::Measurement& measurement) const;

private:
  double m_typical_noise = 0; ///< relative standard deviation of one sample; 0 = unknown
};

/// [lo, hi] that holds `confidence` of the replicates and, always, `value`.
profile::Estimate estimate(double value, const std::vector<double>& replicates, double confidence);

} // namespace breakeven::fit
