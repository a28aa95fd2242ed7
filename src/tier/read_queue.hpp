#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// Reads of files, many at once. Two implementations behind one interface: io_uring, and threads
/// that call preadv() where io_uring is not to be had.
namespace breakeven::tier {

struct ReadRequest {
  std::uint64_t id = 0;
  int fd = -1;
  int registered_file = -1; ///< index in registered files, -1 = use fd
  std::uint64_t offset = 0;
  const iovec* vectors = nullptr; ///< valid until the completion is taken
  int vector_count = 0;
};

struct ReadCompletion {
  std::uint64_t id = 0;
  std::int64_t result = 0; ///< bytes read, 0 at the end of the file, or a negative errno
};

/// For one thread at a time.
class ReadQueue {
public:
  virtual ~ReadQueue() = default;
  /// Starts a read, at the latest when wait() is called. At most depth() may be in flight.
  virtual void submit(const ReadRequest& request) = 0;
  /// The next read to end; blocks until there is one.
  virtual ReadCompletion wait() = 0;
  [[nodiscard]] virtual unsigned depth() const = 0;

  /// Tells the kernel of memory that reads will land in, so that it need not look up and pin the
  /// pages at each read. Once per queue. Returns "" or the reason why reads go on without.
  virtual std::string register_buffers(const std::vector<iovec>& /*areas*/) { return ""; }
  virtual std::string register_files(const std::vector<int>& /*fds*/) { return ""; }
  virtual void unregister_files() {}
};

/// "" where io_uring can be used, else the reason: built without, old kernel, not permitted.
std::string io_uring_unavailable_reason();

/// Throws error::environment when the kernel refuses.
std::unique_ptr<ReadQueue> make_uring_queue(unsigned depth);
std::unique_ptr<ReadQueue> make_thread_queue(unsigned depth);

} // namespace breakeven::tier
