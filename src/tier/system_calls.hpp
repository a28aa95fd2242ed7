#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>

struct statfs;

namespace breakeven::tier {

/// The calls of the operating system that the file tier makes and that can fail on a user's
/// machine in ways no test can provoke (a bad drive, a full quota). Results and errno are those of
/// the calls of the same name.
class SystemCalls {
public:
  virtual ~SystemCalls() = default;
  virtual int open(const char* path, int flags, mode_t mode);
  virtual int close(int fd);
  virtual ssize_t preadv(int fd, const iovec* vectors, int count, off_t offset);
  virtual ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset);
  virtual int fdatasync(int fd);
  virtual int fallocate(int fd, int mode, off_t offset, off_t bytes);
  virtual int fstatfs(int fd, struct statfs* facts);
  /// Bytes that this user can still write to the file system of `fd`; -1 with errno on failure.
  virtual std::int64_t free_bytes(int fd);
  /// Negative errno with which io_uring is refused before it is tried; 0 = try it.
  virtual int refuse_io_uring() { return 0; }
  /// Likewise for the registration of buffers.
  virtual int refuse_registration() { return 0; }
  /// What the kernel answered to a read through io_uring: bytes or a negative errno.
  virtual int completion(int result) { return result; }
};

/// The table in use.
SystemCalls& system_calls();

/// Replaces the table while it lives (tests; no load may be running).
class ScopedSystemCalls {
public:
  explicit ScopedSystemCalls(SystemCalls& replacement);
  ~ScopedSystemCalls();
  ScopedSystemCalls(const ScopedSystemCalls&) = delete;
  ScopedSystemCalls& operator=(const ScopedSystemCalls&) = delete;

private:
  SystemCalls* m_previous;
};

} // namespace breakeven::tier
