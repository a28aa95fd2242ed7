#include "predict/import.hpp"

#include "measure/statistics.hpp"
#include "support/error.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>

namespace breakeven::predict {
namespace {

/// Least squares over the columns of `mask`; nothing when a coefficient would be negative.
bool solve_subset(const Eigen::MatrixXd& design, const Eigen::VectorXd& target, unsigned mask,
                  Eigen::Vector3d& solution, double& misfit) {
  std::vector<Eigen::Index> columns;
  for (Eigen::Index i = 0; i < design.cols(); ++i)
    if ((mask >> i) & 1u) columns.push_back(i);
  if (static_cast<Eigen::Index>(columns.size()) > design.rows()) return false;
  Eigen::MatrixXd part(design.rows(), static_cast<Eigen::Index>(columns.size()));
  for (std::size_t i = 0; i < columns.size(); ++i)
    part.col(static_cast<Eigen::Index>(i)) = design.col(columns[i]);
  const auto qr = part.colPivHouseholderQr();
  if (qr.rank() < part.cols()) return false;
  const Eigen::VectorXd found = qr.solve(target);
  if (found.minCoeff() < 0 || !found.allFinite()) return false;
  misfit = (part * found - target).squaredNorm();
  solution.setZero();
  for (std::size_t i = 0; i < columns.size(); ++i)
    solution[columns[i]] = found[static_cast<Eigen::Index>(i)];
  return true;
}

} // namespace

PrefillFit fit_prefill(const std::vector<PrefillSamples>& samples, const Roofline& work,
                       std::int64_t chunk_tokens) {
  const auto rows = static_cast<Eigen::Index>(samples.size());
  Eigen::MatrixXd design(rows, 3);
  // Scaled so that the columns are of one size.
  constexpr double linear_unit = 1e-12, step_unit = 1e-3;
  for (Eigen::Index i = 0; i < rows; ++i) {
    const PrefillSamples& each = samples[static_cast<std::size_t>(i)];
    const double seconds = measure::median(each.seconds);
    const auto steps = static_cast<double>((each.new_tokens - 1) / chunk_tokens + 1);
    design(i, 0) = steps * step_unit / seconds;
    design(i, 1) = work.linear_flops(static_cast<double>(each.new_tokens)) * linear_unit / seconds;
    design(i, 2) =
        work.attention_flops(each.context_tokens, each.new_tokens) * linear_unit / seconds;
  }
  const Eigen::VectorXd target = Eigen::VectorXd::Ones(rows);
  Eigen::Vector3d best = Eigen::Vector3d::Zero();
  double least = 0;
  bool any = false;
  const auto try_all = [&](std::initializer_list<unsigned> masks) {
    for (const unsigned mask : masks) {
      Eigen::Vector3d solution;
      double misfit = 0;
      if (!solve_subset(design, target, mask, solution, misfit)) continue;
      if (any && misfit >= least) continue;
      best = solution;
      least = misfit;
      any = true;
    }
  };
  if (rows >= 3) try_all({6u, 7u});
  const bool together = !any || !(best[1] > 0) || !(best[2] > 0);
  if (together) { // too little to tell attention from linear work: both run at one rate
    any = false;
    design.col(1) += design.col(2);
    try_all({2u, 3u});
  }
  if (!any || !(best[1] > 0))
    throw error(error_kind::bad_input,
                "the imported times do not grow with the work: no prefill curve can be fitted");
  PrefillFit fit{best[0] * step_unit, best[1] * linear_unit,
                 (together ? best[1] : best[2]) * linear_unit, 0, 0};
  if (together) best[2] = 0;
  std::vector<double> errors;
  const Eigen::VectorXd residual = design * best - target;
  for (Eigen::Index i = 0; i < rows; ++i)
    errors.push_back(std::abs(residual[i]));
  fit.median_error = measure::median(errors);
  fit.worst_error = *std::max_element(errors.begin(), errors.end());
  return fit;
}

} // namespace breakeven::predict
