#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace breakeven::measure {

double median(std::span<const double> values);            ///< 0 for no values
double quantile(std::span<const double> values, double q); ///< linear interpolation, q in [0, 1]
double median_absolute_deviation(std::span<const double> values);

/// Median with a distribution-free confidence interval (order statistics of the binomial).
/// With too few samples for `confidence` the interval is the whole range and `exact` is false.
struct MedianInterval {
  double median = 0, lo = 0, hi = 0;
  std::size_t count = 0;
  bool exact = false;
  /// Half of (hi - lo) over the median; infinity when the median is not positive.
  [[nodiscard]] double relative_half_width() const;
};
MedianInterval median_interval(std::span<const double> values, double confidence = 0.95);

/// A small, fast, seedable generator (xoshiro256**), the same on every platform.
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

} // namespace breakeven::measure
