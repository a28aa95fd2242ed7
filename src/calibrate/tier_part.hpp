#pragma once

#include "calibrate/catalogue.hpp"
#include "calibrate/plan.hpp"
#include "compute/device_buffer.hpp"
#include "profile/profile.hpp"
#include "tier/tier.hpp"

#include <memory>
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
  /// Sweep and identity, fitted.
  [[nodiscard]] profile::Tier result(const Catalogue& catalogue) const;
  [[nodiscard]] std::vector<std::string> warnings() const;
  /// True for loads within a factor of 4 of `bytes`.
  [[nodiscard]] bool decides(Catalogue::Id id, std::int64_t bytes) const;

private:
  profile::Tier m_row;
  std::unique_ptr<tier::Tier> m_tier; ///< null when it could not be prepared
  std::vector<std::pair<SweepShape, Catalogue::Id>> m_loads;
};

} // namespace breakeven::calibrate
