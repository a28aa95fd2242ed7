#pragma once

#include "cuda/copy/cuda_device_buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Measurements of copies by themselves, beside what calibration measures of whole loads.
namespace breakeven::cuda {

struct CopyShape {
  std::uint64_t piece_bytes = 0, pieces = 0; ///< of one load
  std::size_t in_flight = 1;                 ///< loads at once, a lane each
  bool both_ways = false; ///< as many bytes go back to host memory at the same time
};

/// Medians of some runs. Two clocks: bandwidth is the device's, what a load costs is the wall's.
struct CopyTime {
  CopyShape shape;
  std::string variant;
  double wall_s = 0;   ///< from before the lists of pieces are made until the last byte is usable
  double device_s = 0; ///< by events: from the first copy in its stream to the end of the last
};

/// Times `shape` with the variant in use. `source` is pinned, holds all loads in flight (and, when
/// both ways, as much again to receive what comes back), and so does the buffer. `runs` >= 1 after
/// one that does not count. Throws error::environment.
CopyTime time_copies(CudaDeviceBuffer& buffer, std::span<std::byte> source, const CopyShape& shape,
                     int runs);

/// One load in pieces of 1 KiB to 4 MiB, 1 to 512 of them, by every variant that can be used.
std::vector<CopyTime> sweep_copies(CudaDeviceBuffer& buffer, std::span<std::byte> source, int runs);

/// What GPUs that share a link or a memory leave each other.
struct LinkShare {
  double alone_Bps = 0;
  double together_Bps = 0; ///< while all others copy too
};
struct LinkUser {
  CudaDeviceBuffer* buffer = nullptr;
  std::span<const std::byte> source; ///< pinned; not larger than the buffer
};
/// Device clock, medians of `runs`; one entry per user.
std::vector<LinkShare> share_link(std::span<const LinkUser> users, int runs);

} // namespace breakeven::cuda
