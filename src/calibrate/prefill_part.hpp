#pragma once

#include "calibrate/catalogue.hpp"
#include "calibrate/plan.hpp"
#include "compute/compute.hpp"
#include "profile/profile.hpp"

#include <vector>

namespace breakeven::calibrate {

/// The recompute side of a run: which workloads it adds, and what their samples become.
class PrefillPart {
public:
  PrefillPart(const Plan& plan, compute::Compute& compute, Catalogue& catalogue);

  [[nodiscard]] profile::Prefill result(const Plan& plan, const Catalogue& catalogue) const;
  /// True for workloads that decide a break-even near `tokens`.
  [[nodiscard]] bool decides(Catalogue::Id id, std::int64_t tokens) const;

private:
  struct Grid {
    std::string layer_kind;
    std::vector<std::vector<Catalogue::Id>> ids; ///< [context][new]
  };
  const Plan& m_plan;
  const compute::Compute& m_compute;
  std::vector<Catalogue::Id> m_dense, m_checks;
  std::vector<Grid> m_grids;
};

} // namespace breakeven::calibrate
