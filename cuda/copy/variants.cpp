#include "cuda/copy/variants.hpp"

#include "cuda/copy/copy_kernels.hpp"
#include "cuda/copy/copy_plan.hpp"
#include "cuda/runtime/check.hpp"

#include <algorithm>
#include <cstring>

namespace breakeven::cuda {
namespace {

constexpr int first_batch_version = 12080;

std::string batch_reason(const CopyFacts& facts) {
  if (!facts.batch_in_runtime) return "built with a CUDA toolkit older than 12.8";
  if (facts.driver_version >= first_batch_version) return "";
  return "the driver supports CUDA " + std::to_string(facts.driver_version / 1000) + "." +
         std::to_string(facts.driver_version % 1000 / 10) + ", and it needs 12.8";
}

std::string kernel_reason(const CopyFacts& facts) {
  return facts.kernels_read_host ? "" : "kernels cannot read pinned memory at the host's address";
}

void copy_batch(std::span<const CopyItem> runs, CopyLane& lane) {
  lane.destinations.clear();
  lane.sources.clear();
  lane.sizes.clear();
  for (const CopyItem& run : runs) {
    lane.destinations.push_back(run.destination);
    lane.sources.push_back(run.source);
    lane.sizes.push_back(run.bytes);
  }
  check(calls().memcpy_batch_async(lane.destinations.data(), lane.sources.data(), lane.sizes.data(),
                                   runs.size(), lane.stream.get()),
        "starting a batch of copies");
}

/// The table of an ItemsWork in one block: first units, then items.
void copy_items(std::span<const CopyItem> runs, DescriptorRing& descriptors, CopySpread spread,
                int multiprocessors, cudaStream_t stream) {
  const std::uint64_t unit_table_bytes = (runs.size() + 1) * sizeof(std::uint64_t);
  const std::uint64_t bytes = unit_table_bytes + runs.size_bytes();
  const DescriptorRing::Slot slot = descriptors.take(bytes);
  const std::uint64_t units = fill_first_units(runs, reinterpret_cast<std::uint64_t*>(slot.host));
  std::memcpy(slot.host + unit_table_bytes, runs.data(), runs.size_bytes());
  descriptors.upload(bytes, stream);
  const ItemsWork work{reinterpret_cast<const CopyItem*>(slot.device + unit_table_bytes),
                       reinterpret_cast<const std::uint64_t*>(slot.device), runs.size()};
  start_copy(work, units, spread, multiprocessors, stream);
  descriptors.used(stream);
}

void copy_by_kernel(std::span<const CopyItem> runs, CopyLane& lane) {
  copy_items(runs, lane.descriptors, CopySpread::few, lane.multiprocessors(), lane.stream.get());
}

void copy_by_slots(std::span<const CopyItem> runs, CopyLane& lane) {
  const std::vector<SlotSegment> segments = slot_segments(runs);
  const std::uint64_t bytes = runs.size() * sizeof(std::uint32_t);
  cudaStream_t stream = lane.stream.get();
  if (segments.size() == runs.size()) return copy_one_by_one(runs, lane);
  const DescriptorRing::Slot table = lane.descriptors.take(bytes);
  for (const SlotSegment& segment : segments)
    fill_slots(runs, segment, reinterpret_cast<std::uint32_t*>(table.host) + segment.first);
  lane.descriptors.upload(bytes, stream);
  for (const SlotSegment& segment : segments) {
    if (segment.count == 1) {
      copy_one_by_one(runs.subspan(segment.first, 1), lane);
      continue;
    }
    const SlotsWork work{runs[segment.first].source, segment.base,
                         reinterpret_cast<const std::uint32_t*>(table.device) + segment.first,
                         segment.count, segment.piece_bytes};
    start_copy(work, units_in(work), CopySpread::few, lane.multiprocessors(), stream);
  }
  lane.descriptors.used(stream);
}

/// One half fills while the other is scattered.
void copy_staged(std::span<const CopyItem> runs, CopyLane& lane) {
  CopyLane::Halves& halves = lane.halves();
  std::vector<CopyItem> scattered;
  for (const SourceSegment& segment : source_segments(runs, CopyLane::half_bytes)) {
    const std::span<const CopyItem> part = runs.subspan(segment.first, segment.count);
    if (segment.count == 1) {
      copy_one_by_one(part, lane);
      continue;
    }
    const std::size_t half = halves.next;
    halves.next = 1 - half;
    // Words stay whole: staging is as misaligned as the source.
    std::byte* staging = halves.memory[half].data() + misalignment(part.front().source);
    if (halves.in_use[half]) lane.stream.wait(halves.emptied[half]);
    check(calls().memcpy_async(staging, part.front().source, segment.bytes, cudaMemcpyDefault,
                               lane.stream.get()),
          "copying to the device");
    halves.filled[half].record(lane.stream.get());
    halves.scatter.wait(halves.filled[half]);
    scattered.assign(part.begin(), part.end());
    for (CopyItem& item : scattered)
      item.source = staging + (item.source - part.front().source);
    copy_items(scattered, halves.descriptors, CopySpread::all, lane.multiprocessors(),
               halves.scatter.get());
    halves.emptied[half].record(halves.scatter.get());
    halves.in_use[half] = true;
  }
  for (std::size_t half = 0; half < halves.memory.size(); ++half)
    if (halves.in_use[half]) lane.stream.wait(halves.emptied[half]);
}

} // namespace

void copy_one_by_one(std::span<const CopyItem> runs, CopyLane& lane) {
  for (const CopyItem& run : runs)
    check(calls().memcpy_async(run.destination, run.source, run.bytes, cudaMemcpyDefault,
                               lane.stream.get()),
          "copying to the device");
}

void copy_within_device(std::span<const CopyItem> runs, CopyLane& lane) {
  copy_items(runs, lane.descriptors, CopySpread::all, lane.multiprocessors(), lane.stream.get());
}

CopyFacts copy_facts() {
  CopyFacts facts;
  facts.batch_in_runtime = calls().memcpy_batch_async != nullptr;
  if (!succeeded(calls().driver_get_version(&facts.driver_version))) facts.driver_version = 0;
  return facts;
}

// One line per variant.
const registry<CopyVariant>& copy_variants() {
  static const registry<CopyVariant> all = [] {
    registry<CopyVariant> rows("way of copying");
    const auto always = [](const CopyFacts&) { return std::string(); };
    rows.add("memcpy", {"one cudaMemcpyAsync per piece", always, copy_one_by_one});
    rows.add("batch", {"cudaMemcpyBatchAsync (CUDA 12.8)", batch_reason, copy_batch});
    rows.add("kernel",
             {"a kernel reads pinned memory, 16 bytes a load", kernel_reason, copy_by_kernel});
    rows.add("gather",
             {"the same by a map of slots, pieces of one size", kernel_reason, copy_by_slots});
    rows.add("staged", {"one large copy, scattered on the device", always, copy_staged});
    return rows;
  }();
  return all;
}

} // namespace breakeven::cuda
