#pragma once

#include "tier/tier.hpp"

namespace breakeven::tier {

/// `memory[:node=N]`: host memory to the device's KV buffer.
TierKind memory_tier_kind();

} // namespace breakeven::tier
