#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace breakeven::measure {

namespace {

/// Reorders `values`.
double median_in_place(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

/// The largest k >= 1 with P(k <= B <= n - k) >= confidence for B ~ Binomial(n, 1/2), or 0: the
/// interval from the k-th smallest to the k-th largest value then holds the median.
std::size_t order_statistic(std::size_t n, double confidence) {
  const double log_all = static_cast<double>(n) * std::log(2.0);
  const double tail_allowed = (1 - confidence) / 2;
  double log_choose = 0, tail = 0; // C(n, i) and P(B <= i)
  for (std::size_t i = 0; i < n / 2; ++i) {
    tail += std::exp(log_choose - log_all);
    if (tail > tail_allowed) return i;
    log_choose += std::log(static_cast<double>(n - i)) - std::log(static_cast<double>(i + 1));
  }
  return n / 2;
}

} // namespace

double median(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

double quantile(std::span<const double> values, double q) {
  if (values.empty()) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] +
         (position - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

double median_absolute_deviation(std::span<const double> values) {
  std::vector<double> distance(values.begin(), values.end());
  const double middle = median(values);
  for (double& value : distance)
    value = std::abs(value - middle);
  return median_in_place(distance);
}

double relative_noise(std::span<const double> values) {
  const double middle = median(values);
  if (values.size() < 2 || !(middle > 0)) return 0;
  return 1.4826 * median_absolute_deviation(values) / middle; // 1.4826: MAD of a normal is 0.6745 s
}

double relative_drift(std::span<const double> values) {
  const double middle = median(values);
  if (values.size() < 6 || !(middle > 0)) return 0;
  // All pairs are compared: long series are thinned, which leaves a trend as it is.
  const std::size_t stride = 1 + values.size() / 400;
  std::vector<double> kept;
  for (std::size_t i = 0; i < values.size(); i += stride)
    kept.push_back(values[i]);
  const std::size_t n = kept.size();
  std::vector<double> slopes;
  slopes.reserve(n * (n - 1) / 2);
  double s = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      const double rise = kept[j] - kept[i];
      s += rise > 0 ? 1 : (rise < 0 ? -1 : 0);
      slopes.push_back(rise / static_cast<double>(j - i));
    }
  const double count = static_cast<double>(n);
  const double deviation = std::sqrt(count * (count - 1) * (2 * count + 5) / 18);
  if (std::abs(s) - 1 <= normal_z(0.99) * deviation) return 0;
  return median_in_place(slopes) * (count - 1) / middle;
}

double normal_z(double confidence) {
  double lo = 0, hi = 40;
  for (int i = 0; i < 80; ++i) {
    const double z = (lo + hi) / 2;
    (std::erf(z / std::sqrt(2.0)) < confidence ? lo : hi) = z;
  }
  return (lo + hi) / 2;
}

double MedianInterval::relative_half_width() const {
  if (!(median > 0)) return std::numeric_limits<double>::infinity();
  return (hi - lo) / 2 / median;
}

MedianInterval median_interval(std::span<const double> values, double confidence) {
  MedianInterval result;
  result.count = values.size();
  if (values.empty()) return result;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  result.median =
      n % 2 == 1 ? sorted[n / 2] : sorted[n / 2 - 1] + (sorted[n / 2] - sorted[n / 2 - 1]) / 2;
  const std::size_t k = order_statistic(n, confidence);
  result.exact = k > 0;
  result.lo = sorted[k > 0 ? k - 1 : 0];
  result.hi = sorted[k > 0 ? n - k : n - 1];
  return result;
}

std::vector<double> resample(std::span<const double> values, Random& random) {
  std::vector<double> drawn(values.size());
  for (double& value : drawn)
    value = values[random.below(values.size())];
  return drawn;
}

double resampled_median(std::span<const double> values, Random& random) {
  std::vector<double> drawn = resample(values, random);
  return median_in_place(drawn);
}

} // namespace breakeven::measure
