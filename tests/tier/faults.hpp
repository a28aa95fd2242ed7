#pragma once

#include "tier/system_calls.hpp"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

namespace breakeven::tier {

/// The real calls, of which one fails from the nth on, as a broken drive or a full quota would.
class Faults : public SystemCalls {
public:
  int refuse_direct = 0;    ///< errno of every open with O_DIRECT
  int refuse_temporary = 0; ///< errno of every open with O_TMPFILE
  int refuse_open = 0;      ///< errno of every open for reading
  int write_error = 0;      ///< errno of pwrite after `good_writes`
  int good_writes = 0;
  int sync_error = 0; ///< errno of fdatasync
  int read_error = 0; ///< errno of reads after `good_reads`
  int good_reads = 1 << 30;
  int short_reads = 0;                   ///< so many reads after good_reads deliver half
  bool end_of_file = false;              ///< reads after good_reads deliver nothing
  int no_uring = 0, no_registration = 0; ///< errno
  bool claim_tmpfs = false;
  std::int64_t free = -2; ///< -2 = ask the system
  int no_preallocation = 0;

  int open(const char* path, int flags, mode_t mode) override {
    const auto fail = [](int code) {
      errno = code;
      return -1;
    };
    if (refuse_temporary != 0 && (flags & O_TMPFILE) == O_TMPFILE) return fail(refuse_temporary);
    if (refuse_direct != 0 && (flags & O_DIRECT) != 0) return fail(refuse_direct);
    if (refuse_open != 0 && (flags & (O_ACCMODE | O_DIRECTORY)) == O_RDONLY)
      return fail(refuse_open);
    return SystemCalls::open(path, flags, mode);
  }
  ssize_t pwrite(int fd, const void* data, std::size_t bytes, off_t offset) override {
    if (write_error != 0 && good_writes-- <= 0) {
      errno = write_error;
      return -1;
    }
    return SystemCalls::pwrite(fd, data, bytes, offset);
  }
  int fdatasync(int fd) override {
    if (sync_error == 0) return SystemCalls::fdatasync(fd);
    errno = sync_error;
    return -1;
  }
  int fallocate(int fd, int mode, off_t offset, off_t bytes) override {
    if (no_preallocation == 0) return SystemCalls::fallocate(fd, mode, offset, bytes);
    errno = no_preallocation;
    return -1;
  }
  ssize_t preadv(int fd, const iovec* vectors, int count, off_t offset) override {
    const ssize_t result = SystemCalls::preadv(fd, vectors, count, offset);
    const int altered = alter(static_cast<int>(result));
    if (altered >= 0) return altered;
    errno = -altered;
    return -1;
  }
  int completion(int result) override { return alter(result); }
  int refuse_io_uring() override { return -no_uring; }
  int refuse_registration() override { return -no_registration; }
  int fstatfs(int fd, struct statfs* facts) override {
    const int result = SystemCalls::fstatfs(fd, facts);
    if (claim_tmpfs) facts->f_type = 0x01021994;
    return result;
  }
  std::int64_t free_bytes(int fd) override {
    return free == -2 ? SystemCalls::free_bytes(fd) : free;
  }

  std::atomic<int> reads{0};

private:
  int alter(int result) {
    const int number = reads++;
    if (number < good_reads || result <= 0) return result;
    if (read_error != 0) return -read_error;
    if (end_of_file) return 0;
    return number < good_reads + short_reads ? result / 2 : result;
  }
};

} // namespace breakeven::tier
