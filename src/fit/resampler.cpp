#include "fit/resampler.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace breakeven::fit {

namespace {

constexpr std::size_t enough_samples = 6;      // for a 95 % interval by order statistics
// A factor of e per standard deviation: noisier than that is hopeless anyway, and exp() of what a
// stalled machine can produce would overflow.
constexpr double largest_deviation = 1;
constexpr double median_inefficiency = 1.2533; // sqrt(pi / 2): standard error against the mean's

/// Standard deviation of the median by the interval [lo, hi] that the measurement states. The
/// range of n samples holds the median with probability 1 - 2^(1 - n).
double stated_deviation(const profile::Measurement& m) {
  if (!(m.hi_s > m.lo_s)) return 0;
  const std::size_t n = m.samples_s.size();
  const double confidence =
      n >= 2 && n < enough_samples ? 1 - std::exp2(1 - static_cast<double>(n)) : 0.95;
  return (m.hi_s - m.lo_s) / 2 / measure::normal_z(confidence);
}

} // namespace

double draw_normal(measure::Random& random) { // Box and Muller
  const double u = 1 - random.uniform(), v = random.uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

double draw_between(double value, double lo, double hi, double confidence,
                    measure::Random& random) {
  const double z = draw_normal(random);
  const double side = z > 0 ? hi - value : value - lo;
  return value + z * std::max(0.0, side) / measure::normal_z(confidence);
}

Resampler::Resampler(const std::vector<const profile::Measurement*>& neighbours) {
  std::vector<double> noise;
  for (const profile::Measurement* m : neighbours)
    if (m->samples_s.size() >= enough_samples)
      noise.push_back(measure::relative_noise(m->samples_s));
  m_typical_noise = measure::median(noise);
}

double Resampler::relative_deviation(const profile::Measurement& m) const {
  if (!(m.median_s > 0)) return 0;
  const std::size_t n = m.samples_s.size();
  const double root = std::sqrt(static_cast<double>(std::max<std::size_t>(1, n)));
  if (n >= enough_samples) return median_inefficiency * measure::relative_noise(m.samples_s) / root;
  const double stated = stated_deviation(m) / m.median_s;
  return n == 0 ? stated : std::max(stated, median_inefficiency * m_typical_noise / root);
}

double Resampler::operator()(const profile::Measurement& m, measure::Random& random) const {
  if (m.samples_s.size() >= enough_samples) return measure::resampled_median(m.samples_s, random);
  const double deviation = std::min(relative_deviation(m), largest_deviation);
  if (deviation <= 0) return m.median_s;
  // As a power, so that a time stays positive however wide the interval.
  return m.median_s * std::exp(deviation * draw_normal(random));
}

profile::Estimate estimate(double value, const std::vector<double>& replicates, double confidence) {
  if (replicates.empty()) return {value, value, value};
  const double tail = (1 - confidence) / 2;
  return {value, std::min(value, measure::quantile(replicates, tail)),
          std::max(value, measure::quantile(replicates, 1 - tail))};
}

} // namespace breakeven::fit
