#pragma once

#include "calibrate/catalogue.hpp"
#include "calibrate/plan.hpp"
#include "compute/compute.hpp"
#include "profile/profile.hpp"
#include "tier/tier.hpp"

#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

namespace breakeven::calibrate {

/// One tier of a run: its preparation, the loads it adds, and what their samples become.
class TierPart {
public:
  /// Creates and prepares the tier. A tier that the user did not name becomes a row with a reason
  /// when that fails; one that was named throws.
  TierPart(const Plan& plan, const TierPlan& tier, compute::DeviceBuffer& device);

  void add_loads(const Plan& plan, Catalogue& catalogue);
  /// Times loads while `compute` runs prefill steps of `new_tokens`, for about `seconds`.
  void contend(const Plan& plan, compute::Compute& compute, std::int64_t new_tokens, double seconds,
               std::stop_token stop);
  /// True for loads that no answer depends on: ideal access, other layouts.
  [[nodiscard]] bool informs(Catalogue::Id id) const;
  /// Sweep and identity, fitted.
  [[nodiscard]] profile::Tier result(const Catalogue& catalogue) const;
  [[nodiscard]] std::vector<std::string> warnings(const Catalogue& catalogue) const;
  /// True for loads within a factor of 4 of `bytes`.
  [[nodiscard]] bool decides(Catalogue::Id id, std::int64_t bytes) const;

private:
  struct LayoutLoad {
    LayoutShape shape;
    Catalogue::Id id;
  };
  void add_ideal(const SweepShape& shape, Catalogue& catalogue);
  void add_access(profile::Tier& tier, const Catalogue& catalogue) const;

  profile::Tier m_row;
  std::unique_ptr<tier::Tier> m_tier; ///< null when it could not be prepared
  std::vector<std::pair<SweepShape, Catalogue::Id>> m_loads, m_ideal;
  std::vector<LayoutLoad> m_layouts;
};

} // namespace breakeven::calibrate
