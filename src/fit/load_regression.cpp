#include "fit/load_regression.hpp"

#include "support/error.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace breakeven::fit {

namespace {

constexpr int above_column = 0, fixed_column = 1, pieces_column = 2, below_column = 3;
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

LoadRegression::LoadRegression(const std::vector<profile::SweepPoint>& points, double knee_bytes)
    : m_points(points), m_knee_bytes(knee_bytes), m_resample(all_measurements(points)) {
  require_usable(points);
  const auto rows = static_cast<Eigen::Index>(points.size());
  m_design.resize(rows, knee_bytes > 0 ? 4 : 3);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const profile::SweepPoint& point = points[static_cast<std::size_t>(i)];
    const double bytes = static_cast<double>(point.bytes);
    const double below = std::min(bytes, knee_bytes * static_cast<double>(point.pieces));
    m_design(i, above_column) = bytes - below;
    m_design(i, fixed_column) = 1;
    m_design(i, pieces_column) = static_cast<double>(point.pieces);
    if (knee_bytes > 0) m_design(i, below_column) = below;
    m_design.row(i) /= point.seconds.median_s;
  }
  // Bytes are 1e9 times larger than seconds: compare columns of unit length.
  m_column_scale = m_design.colwise().norm().transpose();
  for (Eigen::Index i = 0; i < m_column_scale.size(); ++i)
    if (!(m_column_scale(i) > 0)) m_column_scale(i) = 1; // no byte above the knee
  m_design *= m_column_scale.cwiseInverse().asDiagonal();

  // Among equally good sets the first wins: those with a bandwidth, and few others, come first.
  const int others = static_cast<int>(m_design.cols()) - 1;
  for (const bool with_bandwidth : {true, false})
    for (int count = 0; count <= others; ++count)
      for (unsigned mask = 0; mask < 1u << others; ++mask) {
        if (std::popcount(mask) != count || (!with_bandwidth && count == 0)) continue;
        std::vector<int> columns;
        if (with_bandwidth) columns.push_back(above_column);
        for (int i = 0; i < others; ++i)
          if ((mask >> i & 1) != 0) columns.push_back(i + 1);
        add_active_set(std::move(columns));
      }
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
  Eigen::VectorXd solution = Eigen::VectorXd::Zero(m_design.cols());
  for (const ActiveSet& set : m_active_sets) {
    const Eigen::VectorXd part = set.solver * relative_times;
    if (part.minCoeff() < 0) continue;
    Eigen::VectorXd candidate = Eigen::VectorXd::Zero(m_design.cols());
    for (std::size_t i = 0; i < set.columns.size(); ++i)
      candidate(set.columns[i]) = part(static_cast<Eigen::Index>(i));
    const double residual = (m_design * candidate - relative_times).squaredNorm();
    if (residual < best * (1 - 1e-9) - 1e-18) {
      best = residual;
      solution = candidate;
    }
  }
  // Columns have unit length: this is the share of the bytes in all the time, and rounding below
  // 1e-9.
  if (!(solution(above_column) > 1e-9)) return std::nullopt;
  solution = solution.cwiseQuotient(m_column_scale);
  const double bandwidth_Bps = 1 / solution(above_column);
  if (!solution.allFinite() || !std::isfinite(bandwidth_Bps)) return std::nullopt;
  return LoadFit{solution(fixed_column), solution(pieces_column), bandwidth_Bps, m_knee_bytes,
                 m_knee_bytes > 0 ? solution(below_column) : 0};
}

std::optional<LoadFit> LoadRegression::central() const {
  return solve(Eigen::VectorXd::Ones(m_design.rows()));
}

void LoadRegression::split_residual() {
  const Eigen::Index rows = m_design.rows();
  m_misfit = Eigen::VectorXd::Zero(rows);
  const auto fitted = central();
  const Eigen::Index unknowns = m_design.cols();
  if (!fitted || rows <= unknowns) return;
  double noise_square = 0;
  for (Eigen::Index i = 0; i < rows; ++i) {
    const profile::SweepPoint& point = m_points[static_cast<std::size_t>(i)];
    m_misfit(i) = fitted->load_s(point.bytes, point.pieces) / point.seconds.median_s - 1;
    const double deviation = m_resample.relative_deviation(point.seconds);
    noise_square += deviation * deviation;
  }
  const double residual_square = m_misfit.squaredNorm();
  const double free = static_cast<double>(rows - unknowns) / static_cast<double>(rows);
  const double unexplained = std::max(0.0, residual_square / free - noise_square);
  m_misfit *= residual_square > 0 ? std::sqrt(unexplained / residual_square) : 0;
}

double LoadRegression::misfit() const {
  return std::sqrt(m_misfit.squaredNorm() / static_cast<double>(m_misfit.size()));
}

double LoadRegression::residual(const LoadFit& fit) const {
  double sum = 0;
  for (const profile::SweepPoint& point : m_points) {
    const double error = fit.load_s(point.bytes, point.pieces) / point.seconds.median_s - 1;
    sum += error * error;
  }
  return sum;
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
