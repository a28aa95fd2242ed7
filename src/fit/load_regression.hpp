#pragma once

#include "fit/fit.hpp"
#include "fit/resampler.hpp"

#include <Eigen/Dense>

#include <optional>
#include <vector>

/// Internal to the room.
namespace breakeven::fit {

/// Non-negative least squares of seconds = fixed + pieces * piece_s + bytes / bandwidth over one
/// set of points, each row divided by its measured time so that relative errors count. Built once,
/// solved for many right-hand sides: with 3 unknowns all 8 active sets are factored in advance and
/// the best feasible one is the exact solution.
class LoadRegression {
public:
  /// Throws error::measurement for no points, or times and sizes that are not positive.
  explicit LoadRegression(const std::vector<profile::SweepPoint>& points);

  /// Nothing when no positive bandwidth follows from the points.
  [[nodiscard]] std::optional<LoadFit> central() const;
  [[nodiscard]] std::optional<LoadFit> replicate(measure::Random& random) const;

private:
  struct ActiveSet {
    std::vector<int> columns;
    Eigen::MatrixXd solver; ///< pseudo-inverse of those columns
  };
  [[nodiscard]] std::optional<LoadFit> solve(const Eigen::VectorXd& relative_times) const;
  void add_active_set(std::vector<int> columns);
  void split_residual();

  std::vector<profile::SweepPoint> m_points;
  Eigen::MatrixXd m_design; ///< rows: points; columns: fixed, pieces, bytes; each over its time
  Eigen::Vector3d m_column_scale;
  std::vector<ActiveSet> m_active_sets;
  Resampler m_resample;
  /// Relative residual of each point that its noise does not explain.
  Eigen::VectorXd m_misfit;
};

} // namespace breakeven::fit
