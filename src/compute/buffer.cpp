#include "compute/buffer.hpp"

#include "support/error.hpp"
#include "support/units.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <utility>

namespace breakeven::compute {
namespace {
constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;
}

Buffer::Buffer(std::uint64_t bytes) : m_bytes(bytes) {
  if (bytes == 0) return;
  const std::uint64_t page = bytes >= huge_page_bytes ? huge_page_bytes : 4096;
  if (bytes > UINT64_MAX - page)
    throw error(error_kind::environment, "a buffer of more than 2^64 bytes was asked for");
  m_mapped = (bytes + page - 1) / page * page;
  void* address =
      mmap(nullptr, m_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    throw error(error_kind::environment, "cannot get " + format_bytes(static_cast<double>(bytes)) +
                                             " of memory (" + std::strerror(errno) +
                                             "): lower the lengths, or free memory");
  if (page == huge_page_bytes) madvise(address, m_mapped, MADV_HUGEPAGE); // advice: may be refused
  m_data = static_cast<std::byte*>(address);
}

Buffer::~Buffer() {
  if (m_data != nullptr) munmap(m_data, m_mapped);
}

Buffer::Buffer(Buffer&& other) noexcept
    : m_data(std::exchange(other.m_data, nullptr)), m_bytes(std::exchange(other.m_bytes, 0)),
      m_mapped(std::exchange(other.m_mapped, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(m_data, other.m_data);
  std::swap(m_bytes, other.m_bytes);
  std::swap(m_mapped, other.m_mapped);
  return *this;
}

} // namespace breakeven::compute
