#pragma once

#include "tier/tier.hpp"

namespace breakeven::tier {

/// `file:DIR[,DIR2...][,access=engine|ideal|both][,chunk_tokens=N][,o_direct=auto|on|off]`.
TierKind file_tier_kind();

} // namespace breakeven::tier
