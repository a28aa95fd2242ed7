#include "cuda/copy/copy_lane.hpp"

#include "cuda/copy/copy_work.hpp"
#include "cuda/runtime/check.hpp"

#include <algorithm>
#include <bit>

namespace breakeven::cuda {
namespace {

constexpr std::size_t ring_slots = 4;
constexpr std::uint64_t least_slot_bytes = std::uint64_t{64} << 10;

} // namespace

DescriptorRing::Slot DescriptorRing::slot_of(Entry& entry) const {
  std::byte* host = entry.pinned.empty() ? entry.pageable.data() : entry.pinned.data();
  return {host, entry.device.data()};
}

DescriptorRing::Slot DescriptorRing::take(std::uint64_t bytes) {
  if (m_entries.size() < ring_slots) {
    m_entries.emplace_back();
    m_last = m_entries.size() - 1;
  } else {
    m_last = (m_last + 1) % ring_slots;
  }
  Entry& entry = m_entries[m_last];
  if (entry.busy) entry.done.synchronize();
  entry.busy = false;
  if (entry.device.size_bytes() < bytes) {
    const std::uint64_t room = std::bit_ceil(std::max(bytes, least_slot_bytes));
    entry.device = DeviceMemory(); // the old one first: memory may be short
    entry.device = DeviceMemory(room, "tables of copies");
    entry.pinned = PinnedMemory();
    entry.pinned = PinnedMemory::try_allocate(room);
    if (entry.pinned.empty()) entry.pageable.resize(room);
  }
  return slot_of(entry);
}

void DescriptorRing::upload(std::uint64_t bytes, cudaStream_t stream) {
  const Slot slot = slot_of(m_entries[m_last]);
  check(calls().memcpy_async(slot.device, slot.host, bytes, cudaMemcpyHostToDevice, stream),
        "sending the table of a copy");
}

void DescriptorRing::used(cudaStream_t stream) {
  m_entries[m_last].done.record(stream);
  m_entries[m_last].busy = true;
}

CopyLane::Halves& CopyLane::halves() {
  if (m_halves.empty()) {
    Halves halves;
    for (DeviceMemory& memory : halves.memory)
      memory = DeviceMemory(half_bytes + word_bytes, "staged copies");
    m_halves.push_back(std::move(halves));
  }
  return m_halves.front();
}

} // namespace breakeven::cuda
