#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace breakeven::cuda {

/// Memory on the current device; freed with the object. `purpose` names it in errors.
class DeviceMemory {
public:
  DeviceMemory() = default;
  /// Throws error::environment when the device refuses.
  DeviceMemory(std::uint64_t bytes, const std::string& purpose);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept
      : m_address(std::exchange(other.m_address, nullptr)),
        m_bytes(std::exchange(other.m_bytes, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(m_address, other.m_address);
    std::swap(m_bytes, other.m_bytes);
    return *this;
  }

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(m_address); }
  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(m_address);
  }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return m_bytes; }

private:
  void* m_address = nullptr;
  std::uint64_t m_bytes = 0;
};

/// Page-locked host memory from cudaHostAlloc.
class PinnedMemory {
public:
  PinnedMemory() = default;
  /// Throws error::environment; empty() afterwards only when default-constructed.
  explicit PinnedMemory(std::uint64_t bytes);
  /// An empty object where the system refuses, the error forgotten.
  static PinnedMemory try_allocate(std::uint64_t bytes) noexcept;
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept
      : m_address(std::exchange(other.m_address, nullptr)),
        m_bytes(std::exchange(other.m_bytes, 0)) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(m_address, other.m_address);
    std::swap(m_bytes, other.m_bytes);
    return *this;
  }

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(m_address); }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return m_bytes; }
  [[nodiscard]] bool empty() const noexcept { return m_address == nullptr; }

private:
  void* m_address = nullptr;
  std::uint64_t m_bytes = 0;
};

/// Somebody else's host memory, page-locked by cudaHostRegister for the life of this object.
class RegisteredMemory {
public:
  RegisteredMemory() = default;
  /// Throws error::environment when the system refuses (locked-memory limit, container).
  RegisteredMemory(void* address, std::uint64_t bytes);
  /// An empty object where the system refuses, the error forgotten.
  static RegisteredMemory try_register(void* address, std::uint64_t bytes) noexcept;
  ~RegisteredMemory();
  RegisteredMemory(RegisteredMemory&& other) noexcept
      : m_address(std::exchange(other.m_address, nullptr)),
        m_bytes(std::exchange(other.m_bytes, 0)) {}
  RegisteredMemory& operator=(RegisteredMemory&& other) noexcept {
    std::swap(m_address, other.m_address);
    std::swap(m_bytes, other.m_bytes);
    return *this;
  }

  [[nodiscard]] void* address() const noexcept { return m_address; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return m_bytes; }
  [[nodiscard]] bool empty() const noexcept { return m_address == nullptr; }

private:
  void* m_address = nullptr;
  std::uint64_t m_bytes = 0;
};

} // namespace breakeven::cuda
