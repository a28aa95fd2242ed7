#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace breakeven::measure {

double median(std::span<const double> values);            ///< 0 for no values
double quantile(std::span<const double> values, double q); ///< linear interpolation, q in [0, 1]
double median_absolute_deviation(std::span<const double> values);

/// Spread of the values over their median: 1.4826 * MAD / median, which estimates the relative
/// standard deviation and ignores outliers. 0 for fewer than two values or a median of 0.
double relative_noise(std::span<const double> values);

/// Trend from the first to the last value over the median (Theil-Sen slope times their distance),
/// or 0 when it is no more than chance (Mann-Kendall test, two-sided 1 %): a drive whose cache
/// fills up or a chip that heats up drifts. Values in the order taken.
double relative_drift(std::span<const double> values);

/// z with P(|N(0, 1)| <= z) = confidence. `confidence` in (0, 1).
double normal_z(double confidence);

/// Median with a distribution-free confidence interval (order statistics of the binomial).
/// With too few samples for `confidence` the interval is the whole range and `exact` is false:
/// fewer than 6 for 95 %. Source: W. J. Conover, Practical Nonparametric Statistics, section 3.2.
struct MedianInterval {
  double median = 0, lo = 0, hi = 0;
  std::size_t count = 0;
  bool exact = false;
  /// Half of (hi - lo) over the median; infinity when the median is not positive.
  [[nodiscard]] double relative_half_width() const;
};
MedianInterval median_interval(std::span<const double> values, double confidence = 0.95);

/// A small, fast, seedable generator, the same on every platform: xoshiro256** by Blackman and
/// Vigna (https://prng.di.unimi.it), seeded through splitmix64.
class Random {
public:
  using result_type = std::uint64_t;
  explicit Random(std::uint64_t seed);
  std::uint64_t operator()();
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  std::uint64_t below(std::uint64_t bound); ///< uniform in [0, bound)
  double uniform();                         ///< uniform in [0, 1)

private:
  std::uint64_t m_state[4];
};

/// One bootstrap replicate: `values.size()` draws with replacement.
std::vector<double> resample(std::span<const double> values, Random& random);

/// Median of one bootstrap replicate.
double resampled_median(std::span<const double> values, Random& random);

} // namespace breakeven::measure
