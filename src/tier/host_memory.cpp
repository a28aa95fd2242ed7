#include "tier/host_memory.hpp"

#include "support/error.hpp"
#include "support/units.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace breakeven::tier {

HostMemory::HostMemory(std::uint64_t bytes, const char* what) : m_bytes(bytes) {
  void* area = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED)
    throw error(error_kind::environment, "no memory for " + std::string(what) + " of " +
                                             format_bytes(static_cast<double>(bytes)) + ": " +
                                             std::strerror(errno));
  m_data = static_cast<std::byte*>(area);
  madvise(area, bytes, MADV_HUGEPAGE); // an optimisation: a refusal changes nothing
}

HostMemory::~HostMemory() {
  if (m_data != nullptr) munmap(m_data, m_bytes);
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : m_data(std::exchange(other.m_data, nullptr)), m_bytes(std::exchange(other.m_bytes, 0)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(m_data, other.m_data);
  std::swap(m_bytes, other.m_bytes);
  return *this;
}

} // namespace breakeven::tier
