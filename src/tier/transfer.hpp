#pragma once

#include "compute/device_buffer.hpp"
#include "tier/host_memory.hpp"
#include "tier/piece_map.hpp"
#include "tier/read_queue.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace breakeven::tier {

/// A run of bytes within one file of a store.
struct Extent {
  std::size_t file = 0; ///< index in the store's files
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0; ///< contiguous from there
};

/// The files behind a store's stream of bytes.
struct StoreFiles {
  std::vector<std::string> paths; ///< opened by each load, when `open_fds` is empty
  std::vector<int> open_fds;      ///< kept open, read by index
  bool registered = false;        ///< open_fds are registered with the queue
  int open_flags = 0;
  std::uint64_t total_bytes = 0;               ///< of the stream
  std::function<Extent(std::uint64_t)> locate; ///< position in the stream -> place in a file
};

/// One load in flight: where it starts in the stream and on the device.
struct TransferPart {
  std::uint64_t source = 0, device = 0;
};

struct TransferOptions {
  std::uint64_t request_bytes = 1u << 20; ///< largest single read
  unsigned depth = 8;                     ///< reads in flight, at most the queue's depth
  std::uint64_t alignment = 4096;         ///< of file offsets, sizes and memory
  /// Reads may land in the device's buffer without a copy. Saves memory traffic where the drive
  /// writes memory itself; slower where a hypervisor copies, as the ring stays in the caches.
  bool in_place = true;
};

/// Reads parts of a store into the device's buffer. Where the host can write that buffer and the
/// pieces are aligned and not small, reads may land in it directly; otherwise they land in a ring
/// of host buffers and are copied from there while further reads go on.
class Transfer {
public:
  /// `staging`: the ring. All references outlive the transfer.
  Transfer(ReadQueue& queue, compute::DeviceBuffer& device, const HostMemory& staging)
      : m_queue(queue), m_device(device), m_staging(staging) {}

  /// Each part reads pieces.bytes() from its source. Returns when the last byte is usable on the
  /// device. Throws error::environment, with the file system's reason, when a read fails.
  void run(const StoreFiles& files, const PieceMap& pieces, const std::vector<TransferPart>& parts,
           const TransferOptions& options);

private:
  class Run;
  ReadQueue& m_queue;
  compute::DeviceBuffer& m_device;
  const HostMemory& m_staging;
};

} // namespace breakeven::tier
