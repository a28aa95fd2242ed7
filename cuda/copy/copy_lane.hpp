#pragma once

#include "cuda/runtime/memory.hpp"
#include "cuda/runtime/stream.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace breakeven::cuda {

/// Tables that kernels read, written by the host: a few slots in turn, each free again when the
/// kernel that reads it is done.
class DescriptorRing {
public:
  struct Slot {
    std::byte* host = nullptr;
    std::byte* device = nullptr;
  };
  /// A slot of at least `bytes`; waits for the kernel that used it last. Throws error::environment.
  Slot take(std::uint64_t bytes);
  /// Sends the first `bytes` of the slot taken last to the device, in stream order.
  void upload(std::uint64_t bytes, cudaStream_t stream);
  /// The kernel that reads the slot taken last is in the stream.
  void used(cudaStream_t stream);

private:
  struct Entry {
    PinnedMemory pinned;
    std::vector<std::byte> pageable; ///< where the system refuses to pin
    DeviceMemory device;
    Event done;
    bool busy = false;
  };
  Slot slot_of(Entry& entry) const;
  std::vector<Entry> m_entries;
  std::size_t m_last = 0;
};

/// What one load in flight works with. Not thread-safe.
class CopyLane {
public:
  /// Half of the memory that staged copies land in.
  static constexpr std::uint64_t half_bytes = std::uint64_t{16} << 20;

  explicit CopyLane(int multiprocessors) : m_multiprocessors(multiprocessors) {}

  [[nodiscard]] int multiprocessors() const { return m_multiprocessors; }
  /// All work of a lane is done when its stream is.
  Stream stream;
  DescriptorRing descriptors;

  /// For staged copies; made at first use. Throws error::environment.
  struct Halves {
    Stream scatter;
    DescriptorRing descriptors;
    std::array<DeviceMemory, 2> memory;
    std::array<Event, 2> filled, emptied;
    std::array<bool, 2> in_use{};
    std::size_t next = 0;
  };
  Halves& halves();

  /// Argument lists of cudaMemcpyBatchAsync, kept to save their allocation.
  std::vector<void*> destinations;
  std::vector<const void*> sources;
  std::vector<std::size_t> sizes;

private:
  int m_multiprocessors;
  std::vector<Halves> m_halves; ///< none or one
};

} // namespace breakeven::cuda
