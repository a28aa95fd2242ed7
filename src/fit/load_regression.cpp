#include "fit/load_regression.hpp"

#include "support/error.hpp"

#include <cmath>
#include <limits>

namespace breakeven::fit {

namespace {

constexpr int fixed_column = 0, pieces_column = 1, bytes_column = 2;
constexpr double rank_threshold = 1e-6;

std::vector<const profile::Measurement*>
all_measurements(const std::vector<profile::SweepPoint>& points) {
  std::vector<const profile::Measurement*> all;
  for (const profile::SweepPoint& point : points)
    all.push_back(&point.seconds);
  return all;
}

void require_usable(const std::vector<profile::SweepPoint>& points) {
  if (points.empty())
    throw error(error_kind::measurement, "there are no sweep points to fit a load time to");
  for (const profile::SweepPoint& point : points)
    if (!(point.seconds.median_s > 0) || !std::isfinite(point.seconds.median_s) ||
        point.bytes <= 0 || point.pieces <= 0)
      throw error(error_kind::measurement, "the sweep point of " + std::to_string(point.bytes) +
                                               " bytes in " + std::to_string(point.pieces) +
                                               " pieces has no positive time or size");
}

} // namespace

LoadRegression::LoadRegression(const std::vector<profile::SweepPoint>& points)
    : m_points(points), m_resample(all_measurements(points)) {
  require_usable(points);
  const auto rows = static_cast<Eigen::Index>(points.size());
  m_design.resize(rows, 3);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const profile::SweepPoint& point = points[static_cast<std::size_t>(i)];
    const double seconds = point.seconds.median_s;
    m_design(i, fixed_column) = 1 / seconds;
    m_design(i, pieces_column) = static_cast<double>(point.pieces) / seconds;
    m_design(i, bytes_column) = static_cast<double>(point.bytes) / seconds;
  }
  // Bytes are 1e9 times larger than seconds: compare columns of unit length.
  m_column_scale = m_design.colwise().norm().transpose();
  m_design *= m_column_scale.cwiseInverse().asDiagonal();

  // Among equally good sets the first wins, so those with a bandwidth come first.
  add_active_set({fixed_column, pieces_column, bytes_column});
  add_active_set({fixed_column, bytes_column});
  add_active_set({pieces_column, bytes_column});
  add_active_set({bytes_column});
  add_active_set({fixed_column, pieces_column});
  add_active_set({fixed_column});
  add_active_set({pieces_column});
  split_residual();
}

void LoadRegression::add_active_set(std::vector<int> columns) {
  const auto count = static_cast<Eigen::Index>(columns.size());
  if (count > m_design.rows()) return;
  Eigen::MatrixXd part(m_design.rows(), count);
  for (Eigen::Index i = 0; i < count; ++i)
    part.col(i) = m_design.col(columns[static_cast<std::size_t>(i)]);
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> factored(part);
  factored.setThreshold(rank_threshold);
  if (factored.rank() < count) return; // pieces that grow with bytes cannot be told from them
  m_active_sets.push_back({std::move(columns), factored.solve(Eigen::MatrixXd::Identity(
                                                   m_design.rows(), m_design.rows()))});
}

std::optional<LoadFit> LoadRegression::solve(const Eigen::VectorXd& relative_times) const {
  double best = std::numeric_limits<double>::infinity();
  Eigen::Vector3d solution = Eigen::Vector3d::Zero();
  for (const ActiveSet& set : m_active_sets) {
    const Eigen::VectorXd part = set.solver * relative_times;
    if (part.minCoeff() < 0) continue;
    Eigen::Vector3d candidate = Eigen::Vector3d::Zero();
    for (std::size_t i = 0; i < set.columns.size(); ++i)
      candidate(set.columns[i]) = part(static_cast<Eigen::Index>(i));
    const double residual = (m_design * candidate - relative_times).squaredNorm();
    if (residual < best * (1 - 1e-9) - 1e-18) {
      best = residual;
      solution = candidate;
    }
  }
  solution = solution.cwiseQuotient(m_column_scale);
  const double bandwidth_Bps = 1 / solution(bytes_column);
  if (!solution.allFinite() || !(solution(bytes_column) > 0) || !std::isfinite(bandwidth_Bps))
    return std::nullopt;
  return LoadFit{solution(fixed_column), solution(pieces_column), bandwidth_Bps};
}

std::optional<LoadFit> LoadRegression::central() const {
  return solve(Eigen::VectorXd::Ones(m_design.rows()));
}

void LoadRegression::split_residual() {
  const Eigen::Index rows = m_design.rows();
  m_misfit = Eigen::VectorXd::Zero(rows);
  const auto fitted = central();
  if (!fitted || rows <= 3) return;
  double residual_square = 0, noise_square = 0;
  for (Eigen::Index i = 0; i < rows; ++i) {
    const profile::SweepPoint& point = m_points[static_cast<std::size_t>(i)];
    m_misfit(i) = fitted->load_s(point.bytes, point.pieces) / point.seconds.median_s - 1;
    residual_square += m_misfit(i) * m_misfit(i);
    const double deviation = m_resample.relative_deviation(point.seconds);
    noise_square += deviation * deviation;
  }
  const double free = static_cast<double>(rows - 3) / static_cast<double>(rows);
  const double unexplained = std::max(0.0, residual_square / free - noise_square);
  m_misfit *= residual_square > 0 ? std::sqrt(unexplained / residual_square) : 0;
}

std::optional<LoadFit> LoadRegression::replicate(measure::Random& random) const {
  Eigen::VectorXd times(m_design.rows());
  for (Eigen::Index i = 0; i < times.size(); ++i) {
    const profile::Measurement& m = m_points[static_cast<std::size_t>(i)].seconds;
    const double sign = random.below(2) == 0 ? 1 : -1;
    times(i) = m_resample(m, random) / m.median_s * (1 + sign * m_misfit(i));
  }
  return solve(times);
}

} // namespace breakeven::fit
