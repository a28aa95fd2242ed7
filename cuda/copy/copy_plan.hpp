#pragma once

#include "cuda/copy/copy_work.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// What the host works out before a copy: plain functions over lists of runs.
namespace breakeven::cuda {

/// Consecutive runs of a list that can be told in one number each: pieces of one size, one after
/// the other in the source, at distances on the device that are whole pieces.
struct SlotSegment {
  std::size_t first = 0, count = 0; ///< runs of the list
  std::byte* base = nullptr;        ///< lowest destination
  std::uint64_t piece_bytes = 0;
};

/// Cuts the whole list into segments, in order. A list of random runs gives one segment per run.
std::vector<SlotSegment> slot_segments(std::span<const CopyItem> runs);

/// slots[i] of segment's run i.
void fill_slots(std::span<const CopyItem> runs, const SlotSegment& segment, std::uint32_t* slots);

/// Consecutive runs whose sources are one contiguous area of at most `most_bytes` (or one larger
/// run by itself).
struct SourceSegment {
  std::size_t first = 0, count = 0;
  std::uint64_t bytes = 0;
};
std::vector<SourceSegment> source_segments(std::span<const CopyItem> runs,
                                           std::uint64_t most_bytes);

/// first_unit[0 .. runs.size()] of an ItemsWork; returns the number of units.
std::uint64_t fill_first_units(std::span<const CopyItem> runs, std::uint64_t* first_unit);

std::uint64_t total_bytes(std::span<const CopyItem> runs);

} // namespace breakeven::cuda
