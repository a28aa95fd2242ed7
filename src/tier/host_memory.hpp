#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace breakeven::tier {

/// Page-aligned host memory, on huge pages where the system gives them. Owned, not touched yet.
class HostMemory {
public:
  HostMemory() = default;
  /// Throws error::environment, naming `what`, when the system has no memory.
  HostMemory(std::uint64_t bytes, const char* what);
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;

  [[nodiscard]] std::byte* data() const { return m_data; }
  [[nodiscard]] std::uint64_t bytes() const { return m_bytes; }

private:
  std::byte* m_data = nullptr;
  std::uint64_t m_bytes = 0;
};

} // namespace breakeven::tier
