#pragma once

#include "tier/tier.hpp"

#include <memory>
#include <string>

namespace breakeven::tier {

/// `gds:DIR[,chunk_tokens=N][,compat=refuse|measure]`: one file per chunk of tokens, read into
/// device memory through cuFile. Disqualified unless cuFile's or the kernel's counters prove that
/// reads went from the drive to the GPU without a bounce through host memory.
TierKind gds_tier_kind();

/// The same with another libcufile, and /proc below another root (tests).
std::unique_ptr<Tier> make_gds_tier(const TierSpec& spec, const TierOptions& options,
                                    compute::DeviceBuffer& device, const std::string& library,
                                    const std::string& root = "");

} // namespace breakeven::tier
