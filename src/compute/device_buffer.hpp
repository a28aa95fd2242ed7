#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace breakeven::compute {

/// A contiguous copy into the device's buffer.
struct DeviceRun {
  std::uint64_t offset = 0; ///< in the buffer
  const std::byte* source = nullptr;
  std::size_t bytes = 0;
};

/// The device's KV buffer: where a loaded prefix must end before it is usable.
/// Offsets and sizes in bytes. Not thread-safe, apart from host_address().
class DeviceBuffer {
public:
  virtual ~DeviceBuffer() = default;
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;

  /// Address when the host can write the buffer itself (CPU device), nullptr otherwise.
  [[nodiscard]] virtual std::byte* host_address() noexcept { return nullptr; }

  /// Copies host memory to the device; may return before it is done. Throws error::measurement.
  virtual void copy_in(std::uint64_t offset, const std::byte* source, std::size_t bytes) = 0;
  /// Copies many runs, in the way that is fastest for that many of that size; as copy_in()
  /// otherwise. Runs do not overlap on the device. Loads in flight use a lane each: copies of
  /// different lanes may go on side by side. `runs` is not needed after the call.
  virtual void copy_in_runs(std::span<const DeviceRun> runs, std::size_t /*lane*/ = 0) {
    for (const DeviceRun& run : runs)
      copy_in(run.offset, run.source, run.bytes);
  }
  /// Returns when every copy so far has reached the device.
  virtual void synchronize() = 0;
  /// Copies back, for verification outside timed regions.
  virtual void copy_out(std::uint64_t offset, std::byte* destination, std::size_t bytes) = 0;

  /// Tells that `bytes` at `address` will be a source of copy_in() for long: a device that copies
  /// faster from pinned host memory pins it. Pinning is an optimisation and never fails.
  virtual void pin_host(std::byte* /*address*/, std::size_t /*bytes*/) {}
  virtual void unpin_host(std::byte* /*address*/) noexcept {}

  /// Address by which a drive's DMA can reach the buffer; nullptr where none can.
  [[nodiscard]] virtual std::byte* device_address() noexcept { return nullptr; }
  /// Device memory beside the buffer that copy_in_runs() takes as a source: for data that arrives
  /// in one run and is scattered on the device. Grown on demand, which ends earlier areas; nullptr
  /// where there is none.
  [[nodiscard]] virtual std::byte* device_staging(std::size_t /*bytes*/) { return nullptr; }
  /// NUMA node that the device is attached to, where the system tells.
  [[nodiscard]] virtual std::optional<unsigned> numa_node() const { return std::nullopt; }
  /// Makes the device the current one of the calling thread. Thread-safe.
  virtual void attach_thread() {}

  /// "host memory (memcpy)", "pinned host memory (cudaMemcpyAsync)", ...
  [[nodiscard]] virtual std::string copy_method() const = 0;
};

} // namespace breakeven::compute
