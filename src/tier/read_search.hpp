#pragma once

#include "tier/transfer.hpp"

#include <cstdint>
#include <functional>

namespace breakeven::tier {

struct ReadSearchLimits {
  std::uint64_t most_bytes = 0;           ///< of one probe
  std::uint64_t most_in_flight_bytes = 0; ///< request size times depth
  unsigned most_depth = 0;
  bool in_place = false; ///< reads can land on the device without a copy
};

/// Request size, queue depth and landing of the fastest reads: every combination of a small grid
/// once, in random order, then the best few several times more. Of those that are as fast as can be
/// told apart, the one with the least memory in flight. `read` reads that many bytes and returns
/// the seconds.
TransferOptions
search_reads(const ReadSearchLimits& limits, std::uint64_t seed,
             const std::function<double(const TransferOptions&, std::uint64_t bytes)>& read);

} // namespace breakeven::tier
