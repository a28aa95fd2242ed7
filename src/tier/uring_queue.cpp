#include "tier/read_queue.hpp"

#include "support/error.hpp"
#include "support/units.hpp"
#include "tier/system_calls.hpp"

#include <fmt/format.h>

#if BREAKEVEN_HAVE_URING
#include <liburing.h>
#endif
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace breakeven::tier {

#if BREAKEVEN_HAVE_URING
namespace {

int io_uring_disabled() {
  int value = 0;
  std::ifstream("/proc/sys/kernel/io_uring_disabled") >> value;
  return value;
}

std::string why_refused(int code) {
  switch (code) {
  case ENOSYS:
    return "this kernel has no io_uring (or a seccomp filter hides it)";
  case EPERM:
  case EACCES:
    return io_uring_disabled() != 0
               ? fmt::format("kernel.io_uring_disabled is {}", io_uring_disabled())
               : std::string("io_uring is not permitted here, most often by a container's seccomp "
                             "filter");
  case ENOMEM:
    return "the kernel has no locked memory left for a ring (raise RLIMIT_MEMLOCK: ulimit -l)";
  default:
    return fmt::format("io_uring cannot be set up: {}", std::strerror(code));
  }
}

/// Sets up a ring; returns 0 or a negative errno.
int set_up(unsigned depth, io_uring& ring) {
  if (const int refusal = system_calls().refuse_io_uring(); refusal != 0) return refusal;
  // Completions are noticed when wait() asks, without an interrupt of the thread (kernel 5.19).
  const unsigned flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
  const int result = io_uring_queue_init(depth, &ring, flags);
  return result == -EINVAL ? io_uring_queue_init(depth, &ring, 0) : result;
}

std::string limit_text() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited"
                                         : format_bytes(static_cast<double>(limit.rlim_cur));
}

class UringQueue final : public ReadQueue {
public:
  explicit UringQueue(unsigned depth) : m_depth(depth) {
    if (const int result = set_up(depth, m_ring); result < 0)
      throw error(error_kind::environment, why_refused(-result));
  }
  ~UringQueue() override { io_uring_queue_exit(&m_ring); }

  void submit(const ReadRequest& request) override {
    io_uring_sqe* entry = io_uring_get_sqe(&m_ring);
    if (entry == nullptr) { // the queue is full of entries that the kernel has not seen yet
      hand_over(0);
      entry = io_uring_get_sqe(&m_ring);
      if (entry == nullptr)
        throw error(error_kind::environment,
                    "io_uring takes no more requests than it has room for");
    }
    const int file = request.registered_file >= 0 ? request.registered_file : request.fd;
    const int buffer = request.vector_count == 1 ? registered_buffer(request.vectors[0]) : -1;
    if (buffer >= 0)
      io_uring_prep_read_fixed(entry, file, request.vectors[0].iov_base,
                               static_cast<unsigned>(request.vectors[0].iov_len), request.offset,
                               buffer);
    else
      io_uring_prep_readv(entry, file, request.vectors, static_cast<unsigned>(request.vector_count),
                          request.offset);
    if (request.registered_file >= 0) io_uring_sqe_set_flags(entry, IOSQE_FIXED_FILE);
    io_uring_sqe_set_data64(entry, request.id);
    ++m_unsubmitted;
  }

  ReadCompletion wait() override {
    io_uring_cqe* entry = nullptr;
    while (m_unsubmitted > 0 || io_uring_peek_cqe(&m_ring, &entry) != 0) {
      hand_over(1);
      if (io_uring_peek_cqe(&m_ring, &entry) == 0) break;
    }
    const ReadCompletion completion{io_uring_cqe_get_data64(entry),
                                    system_calls().completion(entry->res)};
    io_uring_cqe_seen(&m_ring, entry);
    return completion;
  }

  [[nodiscard]] unsigned depth() const override { return m_depth; }

  std::string register_buffers(const std::vector<iovec>& areas) override {
    constexpr std::size_t largest = 1u << 30; // of the kernel, per buffer
    std::vector<iovec> parts;
    std::uint64_t all = 0;
    for (const iovec& area : areas)
      for (std::size_t at = 0; at < area.iov_len; at += largest) {
        const std::size_t bytes = std::min(largest, area.iov_len - at);
        parts.push_back({static_cast<std::byte*>(area.iov_base) + at, bytes});
        all += bytes;
      }
    int result = system_calls().refuse_registration();
    if (result == 0)
      result =
          io_uring_register_buffers(&m_ring, parts.data(), static_cast<unsigned>(parts.size()));
    if (result == 0) {
      m_registered = std::move(parts);
      return "";
    }
    return fmt::format("buffers of {} could not be registered with io_uring ({}; RLIMIT_MEMLOCK is "
                       "{}), so reads use unregistered ones",
                       format_bytes(static_cast<double>(all)), std::strerror(-result),
                       limit_text());
  }

  std::string register_files(const std::vector<int>& fds) override {
    const int result =
        io_uring_register_files(&m_ring, fds.data(), static_cast<unsigned>(fds.size()));
    return result == 0 ? ""
                       : fmt::format("files could not be registered with io_uring: {}",
                                     std::strerror(-result));
  }
  void unregister_files() override { io_uring_unregister_files(&m_ring); }

private:
  /// Gives the kernel what was submitted and waits for `completions`.
  void hand_over(unsigned completions) {
    const int result = completions == 0 ? io_uring_submit(&m_ring)
                                        : io_uring_submit_and_wait(&m_ring, completions);
    if (result >= 0) {
      m_unsubmitted -= std::min(m_unsubmitted, static_cast<unsigned>(result));
      return;
    }
    if (result == -EINTR || result == -EAGAIN || result == -EBUSY) return;
    throw error(error_kind::environment,
                fmt::format("io_uring refuses requests: {}", std::strerror(-result)));
  }

  /// Index of the registered buffer that holds all of `vector`, or -1.
  [[nodiscard]] int registered_buffer(const iovec& vector) const {
    const auto* begin = static_cast<const std::byte*>(vector.iov_base);
    for (std::size_t i = 0; i < m_registered.size(); ++i) {
      const auto* base = static_cast<const std::byte*>(m_registered[i].iov_base);
      if (begin >= base && begin + vector.iov_len <= base + m_registered[i].iov_len)
        return static_cast<int>(i);
    }
    return -1;
  }

  io_uring m_ring{};
  unsigned m_depth;
  unsigned m_unsubmitted = 0;
  std::vector<iovec> m_registered;
};

} // namespace

std::string io_uring_unavailable_reason() {
  io_uring ring{};
  if (const int result = set_up(4, ring); result < 0) return why_refused(-result);
  io_uring_queue_exit(&ring);
  return "";
}

std::unique_ptr<ReadQueue> make_uring_queue(unsigned depth) {
  return std::make_unique<UringQueue>(depth);
}

#else

std::string io_uring_unavailable_reason() {
  return "this build has no io_uring (liburing)";
}

std::unique_ptr<ReadQueue> make_uring_queue(unsigned) {
  throw error(error_kind::environment, io_uring_unavailable_reason());
}

#endif

} // namespace breakeven::tier
