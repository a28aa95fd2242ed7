#pragma once

#include "model/architecture.hpp"
#include "tier/tier.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::calibrate {

struct SweepShape {
  tier::LoadShape load;
  bool holdout = false;
};

/// The same bytes in other pieces, to show what a layout costs.
struct LayoutShape {
  std::string name;
  tier::LoadShape load;
};

struct SweepLimits {
  std::int64_t max_prefix_tokens = 0;
  std::uint64_t kv_buffer_bytes = 0;
};

/// Loads over the whole range of lengths in the layout's own pieces, some lengths in other piece
/// sizes so that bytes and pieces can be told apart, some at once, and some that the fit never
/// sees.
std::vector<SweepShape> sweep_of(const model::Architecture& architecture,
                                 const tier::KvLayout& layout, const SweepLimits& limits);

/// A prefix of about 1024 tokens in the pieces that engines cut it in, by their layout of the KV
/// cache on the device, and in pieces of 4 KiB to 4 MiB.
std::vector<LayoutShape> layouts_of(const model::Architecture& architecture,
                                    const tier::KvLayout& layout, const SweepLimits& limits);

} // namespace breakeven::calibrate
