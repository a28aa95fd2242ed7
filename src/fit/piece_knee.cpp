#include "fit/load_regression.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace breakeven::fit {

namespace {

constexpr double least_misfit = 0.02; ///< what a plain model may miss before a knee is looked for

/// Four places, on a logarithmic scale, in each gap between piece sizes that has at least two sizes
/// on either side.
std::vector<double> knee_candidates(const std::vector<profile::SweepPoint>& points) {
  std::set<double> distinct;
  for (const profile::SweepPoint& point : points)
    distinct.insert(static_cast<double>(point.bytes) / static_cast<double>(point.pieces));
  const std::vector<double> sizes(distinct.begin(), distinct.end());
  std::vector<double> candidates;
  for (std::size_t i = 1; i + 2 < sizes.size(); ++i)
    for (const double part : {0.0, 0.25, 0.5, 0.75})
      candidates.push_back(std::round(sizes[i] * std::pow(sizes[i + 1] / sizes[i], part)));
  return candidates;
}

} // namespace

LoadRegression choose_regression(const std::vector<profile::SweepPoint>& points) {
  LoadRegression plain(points);
  const auto plain_fit = plain.central();
  if (!plain_fit || plain.misfit() < least_misfit) return plain;
  double best_residual = plain.residual(*plain_fit), best_knee = 0;
  for (const double knee : knee_candidates(points)) {
    const LoadRegression bent(points, knee);
    const auto fit = bent.central();
    if (!fit) continue;
    const double residual = bent.residual(*fit);
    if (residual >= best_residual) continue;
    best_residual = residual;
    best_knee = knee;
  }
  if (best_knee <= 0) return plain;
  // Schwarz 1978: n ln(residual) + unknowns ln(n); the knee adds its place and a rate.
  const double count = static_cast<double>(points.size());
  const double floor = 1e-12; // residuals of exact data
  const double gain =
      count * std::log((plain.residual(*plain_fit) + floor) / (best_residual + floor));
  if (gain <= 2 * std::log(count) + 6) return plain; // 6: "strong" evidence, Kass and Raftery 1995
  return LoadRegression(points, best_knee);
}

} // namespace breakeven::fit
