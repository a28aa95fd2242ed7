#include "fit/tier_draw.hpp"

#include "support/error.hpp"

#include <algorithm>
#include <cmath>

namespace breakeven::fit {

namespace {

bool nearly_equal(double a, double b) {
  return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b)) + 1e-15;
}

bool agree(const LoadFit& a, const LoadFit& b) {
  return nearly_equal(a.fixed_s, b.fixed_s) && nearly_equal(a.piece_s, b.piece_s) &&
         nearly_equal(a.bandwidth_Bps, b.bandwidth_Bps) &&
         nearly_equal(a.below_s_per_byte * 1e9, b.below_s_per_byte * 1e9);
}

std::optional<LoadRegression> regression_of(const std::vector<profile::SweepPoint>& sweep,
                                            const LoadFit& central) {
  std::vector<profile::SweepPoint> points;
  for (const profile::SweepPoint& point : sweep)
    if (point.in_flight == 1 && !point.holdout) points.push_back(point);
  if (points.size() < 3) return std::nullopt;
  try {
    LoadRegression regression(points, central.knee_bytes);
    const auto fitted = regression.central();
    if (fitted && agree(*fitted, central)) return regression;
  } catch (const error&) {
    // Points that cannot be fitted: the intervals in the file remain.
  }
  return std::nullopt;
}

double draw(const profile::Estimate& estimate, double least, measure::Random& random) {
  return std::max(least, draw_between(estimate.value, estimate.lo, estimate.hi, 0.95, random));
}

} // namespace

TierDraw::TierDraw(const profile::LoadModel& load, const std::vector<profile::SweepPoint>& sweep)
    : m_load(load), m_central{load.fixed_s.value, load.piece_s.value,
                              load.bandwidth.front().bandwidth_Bps.value,
                              load.knee ? static_cast<double>(load.knee->piece_bytes) : 0,
                              load.knee ? load.knee->below_s_per_byte.value : 0},
      m_regression(regression_of(sweep, m_central)) {}

std::optional<LoadFit> TierDraw::replicate(measure::Random& random) const {
  if (m_regression) return m_regression->replicate(random);
  LoadFit drawn;
  drawn.fixed_s = draw(m_load.fixed_s, 0, random);
  drawn.piece_s = draw(m_load.piece_s, 0, random);
  drawn.bandwidth_Bps =
      draw(m_load.bandwidth.front().bandwidth_Bps, m_central.bandwidth_Bps / 1000, random);
  if (m_load.knee) {
    drawn.knee_bytes = m_central.knee_bytes;
    drawn.below_s_per_byte = draw(m_load.knee->below_s_per_byte, 0, random);
  }
  return drawn;
}

std::string TierDraw::unusable(const profile::LoadModel& load) {
  const auto is_time = [](const profile::Estimate& e) {
    return std::isfinite(e.value) && std::isfinite(e.lo) && std::isfinite(e.hi) && e.value >= 0;
  };
  if (load.bandwidth.empty() || load.bandwidth.front().in_flight != 1)
    return "its load model has no bandwidth for one load in flight";
  if (!is_time(load.bandwidth.front().bandwidth_Bps) ||
      !(load.bandwidth.front().bandwidth_Bps.value > 0))
    return "the bandwidth in its load model is not positive";
  if (!is_time(load.fixed_s) || !is_time(load.piece_s))
    return "a constant of its load model is negative or not a number";
  if (load.knee && (load.knee->piece_bytes < 1 || !is_time(load.knee->below_s_per_byte)))
    return "the knee of its load model is not positive";
  return "";
}

} // namespace breakeven::fit
