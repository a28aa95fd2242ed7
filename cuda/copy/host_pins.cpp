#include "cuda/copy/host_pins.hpp"

#include "cuda/runtime/check.hpp"

#include <algorithm>

namespace breakeven::cuda {
namespace {

constexpr std::uint64_t granule = std::uint64_t{2} << 20; // a huge page is locked as a whole

std::uint64_t halved(std::uint64_t step) {
  return step / 2 / granule * granule;
}

} // namespace

std::uint64_t HostPins::pin(std::byte* address, std::uint64_t bytes) {
  Area area;
  area.address = address;
  area.bytes = bytes;
  std::uint64_t step = std::min(bytes, m_steps.largest_bytes);
  while (area.pinned < bytes) {
    const std::uint64_t part = std::min(step, bytes - area.pinned);
    RegisteredMemory region = RegisteredMemory::try_register(address + area.pinned, part);
    if (region.empty()) {
      step = halved(part);
      if (step < m_steps.least_bytes) break;
      continue;
    }
    void* seen = nullptr;
    if (!succeeded(calls().host_get_device_pointer(&seen, region.address(), 0)) ||
        seen != region.address())
      m_same_address = false;
    area.pinned += part;
    area.regions.push_back(std::move(region));
  }
  const std::uint64_t pinned = area.pinned;
  m_areas.push_back(std::move(area));
  return pinned;
}

void HostPins::unpin(const std::byte* address) noexcept {
  std::erase_if(m_areas, [&](const Area& area) { return area.address == address; });
}

HostPins::Part HostPins::part(const std::byte* address, std::uint64_t bytes) const {
  Part result{bytes};
  for (const Area& area : m_areas)
    for (const RegisteredMemory& region : area.regions) {
      const auto* begin = static_cast<const std::byte*>(region.address());
      const std::byte* end = begin + region.size_bytes();
      if (address >= begin && address < end)
        return {std::min(bytes, static_cast<std::uint64_t>(end - address)), true, begin, end};
      if (begin > address && begin < address + result.bytes)
        result.bytes = static_cast<std::uint64_t>(begin - address);
    }
  return result;
}

std::uint64_t HostPins::pinned_bytes() const {
  std::uint64_t bytes = 0;
  for (const Area& area : m_areas)
    bytes += area.pinned;
  return bytes;
}

std::uint64_t HostPins::asked_bytes() const {
  std::uint64_t bytes = 0;
  for (const Area& area : m_areas)
    bytes += area.bytes;
  return bytes;
}

PinnedMemory allocate_pinned(std::uint64_t bytes, std::uint64_t least_bytes) {
  for (; bytes >= std::max<std::uint64_t>(least_bytes, 1); bytes /= 2)
    if (PinnedMemory memory = PinnedMemory::try_allocate(bytes); !memory.empty()) return memory;
  return {};
}

} // namespace breakeven::cuda
