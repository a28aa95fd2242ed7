#include "tier/file_tier.hpp"
#include "tier/gds_tier.hpp"
#include "tier/memory_tier.hpp"
#include "tier/tier.hpp"

namespace breakeven::tier {

// One line per kind of tier.
const registry<TierKind>& tier_kinds() {
  static const registry<TierKind> kinds = [] {
    registry<TierKind> rows("tier");
    rows.add("memory", memory_tier_kind());
    rows.add("file", file_tier_kind());
    rows.add("gds", gds_tier_kind());
    return rows;
  }();
  return kinds;
}

} // namespace breakeven::tier
