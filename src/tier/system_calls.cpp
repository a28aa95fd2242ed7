#include "tier/system_calls.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace breakeven::tier {
namespace {

SystemCalls real_calls;
SystemCalls* calls_in_use = &real_calls;

} // namespace

int SystemCalls::open(const char* path, int flags, mode_t mode) {
  return ::open(path, flags | O_CLOEXEC, mode);
}
int SystemCalls::close(int fd) {
  return ::close(fd);
}
ssize_t SystemCalls::preadv(int fd, const iovec* vectors, int count, off_t offset) {
  return ::preadv(fd, vectors, count, offset);
}
ssize_t SystemCalls::pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  return ::pwrite(fd, data, bytes, offset);
}
int SystemCalls::fdatasync(int fd) {
  return ::fdatasync(fd);
}
int SystemCalls::fallocate(int fd, int mode, off_t offset, off_t bytes) {
  return ::fallocate(fd, mode, offset, bytes);
}
int SystemCalls::fstatfs(int fd, struct statfs* facts) {
  return ::fstatfs(fd, facts);
}
std::int64_t SystemCalls::free_bytes(int fd) {
  struct statvfs facts {};
  if (fstatvfs(fd, &facts) != 0) return -1;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(facts.f_bavail, facts.f_frsize, &bytes)) return INT64_MAX;
  return bytes;
}

SystemCalls& system_calls() {
  return *calls_in_use;
}

ScopedSystemCalls::ScopedSystemCalls(SystemCalls& replacement) : m_previous(calls_in_use) {
  calls_in_use = &replacement;
}
ScopedSystemCalls::~ScopedSystemCalls() {
  calls_in_use = m_previous;
}

} // namespace breakeven::tier
