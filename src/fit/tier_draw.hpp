#pragma once

#include "fit/load_regression.hpp"

#include <optional>

/// Internal to the room.
namespace breakeven::fit {

/// Draws load models of one calibrated tier: by refitting resampled sweep points where the file
/// holds the points that the model came from, else (predicted, published) from its intervals.
class TierDraw {
public:
  TierDraw(const profile::LoadModel& load, const std::vector<profile::SweepPoint>& sweep);
  [[nodiscard]] const LoadFit& central() const { return m_central; }
  /// Nothing when the resampled points determine no bandwidth.
  [[nodiscard]] std::optional<LoadFit> replicate(measure::Random& random) const;

  /// Empty, or why `load` cannot be used.
  static std::string unusable(const profile::LoadModel& load);

private:
  profile::LoadModel m_load;
  LoadFit m_central;
  std::optional<LoadRegression> m_regression;
};

} // namespace breakeven::fit
