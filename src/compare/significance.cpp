#include "compare/significance.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace breakeven::compare {
namespace {

/// Ranks with ties shared; `ties` becomes the sum of t^3 - t over groups of t equal values.
std::vector<double> shared_ranks(const std::vector<double>& values, double& ties) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t x, std::size_t y) { return values[x] < values[y]; });
  std::vector<double> ranks(values.size());
  ties = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]])
      ++end;
    const double count = static_cast<double>(end - begin);
    ties += count * count * count - count;
    for (std::size_t i = begin; i < end; ++i)
      ranks[order[i]] = static_cast<double>(begin + end + 1) / 2;
    begin = end;
  }
  return ranks;
}

/// Number of ways to choose k of n; large values are cut off.
double ways(std::size_t n, std::size_t k) {
  double result = 1;
  for (std::size_t i = 1; i <= k && result < 1e12; ++i)
    result = result * static_cast<double>(n - k + i) / static_cast<double>(i);
  return result;
}

/// Share of all choices of `k` ranks whose sum is as far from `center` as `distance`.
class Enumeration {
public:
  Enumeration(const std::vector<double>& ranks, double center, double distance)
      : m_ranks(ranks), m_center(center), m_distance(distance - 1e-9) {}
  double share(std::size_t k) {
    choose(0, k, 0);
    return m_far / m_all;
  }

private:
  void choose(std::size_t from, std::size_t left, double sum) {
    if (left == 0) {
      ++m_all;
      if (std::abs(sum - m_center) >= m_distance) ++m_far;
      return;
    }
    for (std::size_t i = from; i + left <= m_ranks.size(); ++i)
      choose(i + 1, left - 1, sum + m_ranks[i]);
  }
  const std::vector<double>& m_ranks;
  double m_center, m_distance, m_far = 0, m_all = 0;
};

} // namespace

double normal_p(double z) {
  return std::erfc(std::abs(z) / std::numbers::sqrt2);
}

double rank_test_p(std::span<const double> a, std::span<const double> b) {
  constexpr double level = 0.05, enumerable = 20000;
  if (a.empty() || b.empty()) return -1;
  const double choices = ways(a.size() + b.size(), std::min(a.size(), b.size()));
  if (2 / choices > level) return -1;
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  double ties = 0;
  const std::vector<double> ranks = shared_ranks(all, ties);
  const double n = static_cast<double>(a.size()), m = static_cast<double>(b.size()), sum = n + m;
  const double observed =
      std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(a.size()), 0.0);
  const double center = n * (sum + 1) / 2;
  if (choices <= enumerable)
    return Enumeration(ranks, center, std::abs(observed - center)).share(a.size());
  const double variance = n * m / 12 * (sum + 1 - ties / (sum * (sum - 1)));
  if (!(variance > 0)) return 1; // all values are equal
  return normal_p(std::max(0.0, std::abs(observed - center) - 0.5) / std::sqrt(variance));
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return p[x] < p[y]; });
  std::vector<double> corrected(p.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, std::min(1.0, p[order[i]] * static_cast<double>(p.size() - i)));
    corrected[order[i]] = largest;
  }
  return corrected;
}

double log_median_deviation(std::span<const double> samples, int replicates,
                            measure::Random& random) {
  if (samples.size() < 2 || replicates < 2) return 0;
  double sum = 0, square = 0, count = 0;
  for (int i = 0; i < replicates; ++i) {
    const double median = measure::resampled_median(samples, random);
    if (!(median > 0)) continue;
    const double value = std::log(median);
    sum += value;
    square += value * value;
    ++count;
  }
  if (count < 2) return 0;
  const double mean = sum / count;
  return std::sqrt(std::max(0.0, square / count - mean * mean) * count / (count - 1));
}

} // namespace breakeven::compare
