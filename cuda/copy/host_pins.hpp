#pragma once

#include "cuda/runtime/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::cuda {

/// Host memory of others that is page-locked by cudaHostRegister, in as many regions as the system
/// allows. What it refuses stays pageable: copies from there are slower, and say so.
class HostPins {
public:
  struct Steps {
    std::uint64_t largest_bytes = std::uint64_t{1} << 30;
    std::uint64_t least_bytes = std::uint64_t{16} << 20;
  };
  HostPins() = default;
  explicit HostPins(Steps steps) : m_steps(steps) {}

  /// Pins from the front, a step at a time; a refused step is halved until it is too small to try.
  /// Returns how many bytes are pinned.
  std::uint64_t pin(std::byte* address, std::uint64_t bytes);
  void unpin(const std::byte* address) noexcept;

  struct Part {
    std::uint64_t bytes = 0; ///< from the address on, within one region or outside of all
    bool pinned = false;
    const std::byte* begin = nullptr; ///< of the region; null outside of all
    const std::byte* end = nullptr;
  };
  /// One copy must not cross the end of a region: CUDA refuses memory of two registrations.
  [[nodiscard]] Part part(const std::byte* address, std::uint64_t bytes) const;

  [[nodiscard]] std::uint64_t pinned_bytes() const;
  [[nodiscard]] std::uint64_t asked_bytes() const;
  /// Kernels may read pinned memory at the address that the host uses.
  [[nodiscard]] bool readable_by_kernels() const { return m_same_address; }

private:
  struct Area {
    std::byte* address = nullptr;
    std::uint64_t bytes = 0, pinned = 0;
    std::vector<RegisteredMemory> regions; ///< one behind the other, from the front
  };
  Steps m_steps;
  std::vector<Area> m_areas;
  bool m_same_address = true;
};

/// Pinned memory of cudaHostAlloc, halved until the system gives it; empty below `least_bytes`.
PinnedMemory allocate_pinned(std::uint64_t bytes, std::uint64_t least_bytes);

} // namespace breakeven::cuda
