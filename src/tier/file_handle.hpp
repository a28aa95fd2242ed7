#pragma once

#include "tier/system_calls.hpp"

#include <utility>

namespace breakeven::tier {

/// A file descriptor that closes itself.
class FileHandle {
public:
  FileHandle() = default;
  explicit FileHandle(int fd) : m_fd(fd) {}
  ~FileHandle() { reset(); }
  FileHandle(FileHandle&& other) noexcept : m_fd(std::exchange(other.m_fd, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(m_fd, other.m_fd);
    return *this;
  }

  [[nodiscard]] int get() const { return m_fd; }
  explicit operator bool() const { return m_fd >= 0; }
  void reset() {
    if (m_fd >= 0) system_calls().close(std::exchange(m_fd, -1));
  }

private:
  int m_fd = -1;
};

} // namespace breakeven::tier
