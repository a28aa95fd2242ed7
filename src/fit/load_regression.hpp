#pragma once

#include "fit/fit.hpp"
#include "fit/resampler.hpp"

#include <Eigen/Dense>

#include <optional>
#include <vector>

/// Internal to the room.
namespace breakeven::fit {

/// Non-negative least squares of seconds = fixed + pieces * piece_s + bytes / bandwidth over one
/// set of points, each row divided by its measured time so that relative errors count; with a knee
/// the bytes below and above it are two unknowns. Built once, solved for many right-hand sides:
/// with so few unknowns all active sets are factored in advance, and the best feasible one is the
/// exact solution.
class LoadRegression {
public:
  /// Throws error::measurement for no points, or times and sizes that are not positive.
  explicit LoadRegression(const std::vector<profile::SweepPoint>& points, double knee_bytes = 0);

  /// Nothing when no positive bandwidth follows from the points.
  [[nodiscard]] std::optional<LoadFit> central() const;
  [[nodiscard]] std::optional<LoadFit> replicate(measure::Random& random) const;
  [[nodiscard]] double knee_bytes() const { return m_knee_bytes; }
  /// Sum of squared relative errors of a fit.
  [[nodiscard]] double residual(const LoadFit& fit) const;
  /// Root mean square of the relative errors of central() that noise does not explain.
  [[nodiscard]] double misfit() const;

private:
  struct ActiveSet {
    std::vector<int> columns;
    Eigen::MatrixXd solver; ///< pseudo-inverse of those columns
  };
  [[nodiscard]] std::optional<LoadFit> solve(const Eigen::VectorXd& relative_times) const;
  void add_active_set(std::vector<int> columns);
  void split_residual();

  std::vector<profile::SweepPoint> m_points;
  double m_knee_bytes;
  Eigen::MatrixXd m_design; ///< rows: points; columns: as named in the source; each over its time
  Eigen::VectorXd m_column_scale;
  std::vector<ActiveSet> m_active_sets;
  Resampler m_resample;
  /// Relative residual of each point that its noise does not explain.
  Eigen::VectorXd m_misfit;
};

/// The regression to use: with the knee that fits best, where it beats none by the Bayesian
/// information criterion and the plain model misses the points by 2 % or more beyond their noise;
/// else without.
LoadRegression choose_regression(const std::vector<profile::SweepPoint>& points);

} // namespace breakeven::fit
