#pragma once

#include "compute/device_buffer.hpp"

#include "tier/host_memory.hpp"

#include <cstring>

namespace breakeven::tier {

/// A CPU device's KV buffer, and with `visible` false one that only copy_in() can reach, as a
/// GPU's: it then counts copies that were not waited for.
class HostBuffer : public compute::DeviceBuffer {
public:
  explicit HostBuffer(std::uint64_t bytes, bool visible = true, std::size_t misalignment = 0)
      : m_memory(bytes + misalignment, "a test"), m_visible(visible), m_offset(misalignment) {}

  std::uint64_t size_bytes() const override { return m_memory.bytes() - m_offset; }
  std::byte* host_address() noexcept override { return m_visible ? data() : nullptr; }
  std::byte* data() const { return m_memory.data() + m_offset; }

  void copy_in(std::uint64_t offset, const std::byte* source, std::size_t bytes) override {
    if (offset + bytes > size_bytes()) throw std::out_of_range("copy_in");
    if (!lose_copies) std::memcpy(data() + offset, source, bytes);
    ++unfinished;
  }
  void synchronize() override { unfinished = 0; }
  void copy_out(std::uint64_t offset, std::byte* destination, std::size_t bytes) override {
    if (offset + bytes > size_bytes()) throw std::out_of_range("copy_out");
    std::memcpy(destination, data() + offset, bytes);
  }
  std::string copy_method() const override { return "test copy"; }

  std::size_t unfinished = 0;
  bool lose_copies = false;

private:
  HostMemory m_memory;
  bool m_visible;
  std::size_t m_offset;
};

inline constexpr std::uint64_t mib = 1u << 20;

} // namespace breakeven::tier
