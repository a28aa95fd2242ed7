#include "cuda/copy/copy_plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace breakeven::cuda {

std::vector<SlotSegment> slot_segments(std::span<const CopyItem> runs) {
  constexpr std::uint64_t most_slots = std::numeric_limits<std::uint32_t>::max();
  std::vector<SlotSegment> segments;
  std::byte* highest = nullptr;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const CopyItem& run = runs[i];
    if (!segments.empty()) {
      SlotSegment& last = segments.back();
      const CopyItem& before = runs[i - 1];
      std::byte* low = std::min(last.base, run.destination);
      std::byte* high = std::max(highest, run.destination);
      const auto distance = static_cast<std::uint64_t>(std::abs(run.destination - last.base));
      if (run.bytes == last.piece_bytes && run.source == before.source + before.bytes &&
          distance % last.piece_bytes == 0 &&
          static_cast<std::uint64_t>(high - low) / last.piece_bytes < most_slots) {
        last.base = low;
        highest = high;
        ++last.count;
        continue;
      }
    }
    segments.push_back({i, 1, run.destination, run.bytes});
    highest = run.destination;
  }
  return segments;
}

void fill_slots(std::span<const CopyItem> runs, const SlotSegment& segment, std::uint32_t* slots) {
  for (std::size_t i = 0; i < segment.count; ++i) {
    const auto distance =
        static_cast<std::uint64_t>(runs[segment.first + i].destination - segment.base);
    slots[i] = static_cast<std::uint32_t>(distance / segment.piece_bytes);
  }
}

std::vector<SourceSegment> source_segments(std::span<const CopyItem> runs,
                                           std::uint64_t most_bytes) {
  std::vector<SourceSegment> segments;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const CopyItem& run = runs[i];
    if (!segments.empty()) {
      SourceSegment& last = segments.back();
      if (run.source == runs[i - 1].source + runs[i - 1].bytes &&
          last.bytes + run.bytes <= most_bytes) {
        last.bytes += run.bytes;
        ++last.count;
        continue;
      }
    }
    segments.push_back({i, 1, run.bytes});
  }
  return segments;
}

std::uint64_t fill_first_units(std::span<const CopyItem> runs, std::uint64_t* first_unit) {
  std::uint64_t unit = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    first_unit[i] = unit;
    unit += units_of(runs[i].bytes);
  }
  first_unit[runs.size()] = unit;
  return unit;
}

std::uint64_t total_bytes(std::span<const CopyItem> runs) {
  std::uint64_t bytes = 0;
  for (const CopyItem& run : runs)
    bytes += run.bytes;
  return bytes;
}

} // namespace breakeven::cuda
