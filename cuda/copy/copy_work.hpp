#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define BREAKEVEN_HOST_DEVICE __host__ __device__
#else
#define BREAKEVEN_HOST_DEVICE
#endif

/// The index arithmetic of the copy kernels, for both sides: kernels run it on the device, tests
/// on the host. Work is cut into units that one warp copies at a time.
namespace breakeven::cuda {

inline constexpr std::uint64_t word_bytes = 16; ///< the widest load of one thread
inline constexpr unsigned lanes_per_unit = 32;  ///< threads of a warp
inline constexpr std::uint64_t loads_per_lane = 4;
/// Every thread has four loads under way: latency of the link is what a copy waits for.
inline constexpr std::uint64_t unit_bytes = lanes_per_unit * loads_per_lane * word_bytes;

/// One contiguous copy, in addresses that the device can use.
struct CopyItem {
  const std::byte* source;
  std::byte* destination;
  std::uint64_t bytes;
};

/// Any list of runs. `first_unit[i]` is the first unit of item i, `first_unit[count]` their sum.
struct ItemsWork {
  const CopyItem* items;
  const std::uint64_t* first_unit;
  std::uint64_t count;
};

/// Pieces of one size that lie one after the other in the source: piece i goes to slot slots[i].
struct SlotsWork {
  const std::byte* source;
  std::byte* destination;
  const std::uint32_t* slots;
  std::uint64_t pieces;
  std::uint64_t piece_bytes;
};

struct alignas(16) CopyWord {
  std::uint64_t low, high;
};

BREAKEVEN_HOST_DEVICE constexpr std::uint64_t units_of(std::uint64_t bytes) {
  return (bytes + unit_bytes - 1) / unit_bytes;
}

BREAKEVEN_HOST_DEVICE inline std::uint64_t misalignment(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % word_bytes;
}

/// What lane `lane` copies of one run of at most unit_bytes.
BREAKEVEN_HOST_DEVICE inline void copy_share(const std::byte* source, std::byte* destination,
                                             std::uint64_t bytes, unsigned lane) {
  std::uint64_t words = 0, head = 0;
  if (misalignment(source) == misalignment(destination)) {
    head = (word_bytes - misalignment(source)) % word_bytes;
    if (head > bytes) head = bytes;
    words = (bytes - head) / word_bytes;
  }
  const auto* from = reinterpret_cast<const CopyWord*>(source + head);
  auto* to = reinterpret_cast<CopyWord*>(destination + head);
  CopyWord held[loads_per_lane];
  for (unsigned i = 0; i < loads_per_lane; ++i) {
    const std::uint64_t word = lane + std::uint64_t{i} * lanes_per_unit;
    if (word < words) held[i] = from[word];
  }
  for (unsigned i = 0; i < loads_per_lane; ++i) {
    const std::uint64_t word = lane + std::uint64_t{i} * lanes_per_unit;
    if (word < words) to[word] = held[i];
  }
  for (std::uint64_t i = lane; i < head; i += lanes_per_unit)
    destination[i] = source[i];
  for (std::uint64_t i = head + words * word_bytes + lane; i < bytes; i += lanes_per_unit)
    destination[i] = source[i];
}

/// The item that a unit belongs to: the last one whose first unit is not behind it.
BREAKEVEN_HOST_DEVICE inline std::uint64_t item_of(const ItemsWork& work, std::uint64_t unit) {
  std::uint64_t low = 0, high = work.count;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (work.first_unit[middle] <= unit)
      low = middle;
    else
      high = middle;
  }
  return low;
}

BREAKEVEN_HOST_DEVICE inline std::uint64_t units_in(const ItemsWork& work) {
  return work.first_unit[work.count];
}

BREAKEVEN_HOST_DEVICE inline void copy_unit(const ItemsWork& work, std::uint64_t unit,
                                            unsigned lane) {
  const std::uint64_t index = item_of(work, unit);
  const CopyItem item = work.items[index];
  const std::uint64_t begin = (unit - work.first_unit[index]) * unit_bytes;
  const std::uint64_t left = item.bytes - begin;
  copy_share(item.source + begin, item.destination + begin, left < unit_bytes ? left : unit_bytes,
             lane);
}

BREAKEVEN_HOST_DEVICE inline std::uint64_t units_in(const SlotsWork& work) {
  return work.pieces * units_of(work.piece_bytes);
}

BREAKEVEN_HOST_DEVICE inline void copy_unit(const SlotsWork& work, std::uint64_t unit,
                                            unsigned lane) {
  const std::uint64_t per_piece = units_of(work.piece_bytes);
  const std::uint64_t piece = unit / per_piece;
  const std::uint64_t begin = unit % per_piece * unit_bytes;
  const std::uint64_t left = work.piece_bytes - begin;
  copy_share(work.source + piece * work.piece_bytes + begin,
             work.destination + work.slots[piece] * work.piece_bytes + begin,
             left < unit_bytes ? left : unit_bytes, lane);
}

} // namespace breakeven::cuda
