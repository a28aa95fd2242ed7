#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace breakeven::compute {

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
  /// Returns when every copy_in so far has reached the device.
  virtual void synchronize() = 0;
  /// Copies back, for verification outside timed regions.
  virtual void copy_out(std::uint64_t offset, std::byte* destination, std::size_t bytes) = 0;

  /// Tells that `bytes` at `address` will be a source of copy_in() for long: a device that copies
  /// faster from pinned host memory pins it. Pinning is an optimisation and never fails.
  virtual void pin_host(std::byte* /*address*/, std::size_t /*bytes*/) {}
  virtual void unpin_host(std::byte* /*address*/) noexcept {}

  /// "host memory (memcpy)", "pinned host memory (cudaMemcpyAsync)", ...
  [[nodiscard]] virtual std::string copy_method() const = 0;
};

} // namespace breakeven::compute
