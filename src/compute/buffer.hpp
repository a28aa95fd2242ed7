#pragma once

#include <cstddef>
#include <cstdint>

namespace breakeven::compute {

/// Anonymous memory, aligned to huge pages and backed by them where the kernel agrees; pages
/// belong to the NUMA node of the thread that first writes them. Move only.
class Buffer {
public:
  Buffer() = default;
  /// Throws error::environment when the kernel refuses the memory. Zero bytes: empty.
  explicit Buffer(std::uint64_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return m_data; }
  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return reinterpret_cast<T*>(m_data);
  }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return m_bytes; }

private:
  std::byte* m_data = nullptr;
  std::uint64_t m_bytes = 0;
  std::uint64_t m_mapped = 0;
};

} // namespace breakeven::compute
