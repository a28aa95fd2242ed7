#include "tier/transfer.hpp"

#include "support/error.hpp"
#include "support/text.hpp"
#include "tier/stream_copy.hpp"
#include "tier/system_calls.hpp"

#include <fmt/format.h>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

namespace breakeven::tier {
namespace {

constexpr std::size_t most_vectors = 1024; // IOV_MAX
constexpr int most_retries = 16;
/// Scattered reads of smaller pieces are slower than a copy: drivers split requests by segments.
constexpr std::uint64_t least_in_place_bytes = 64u << 10;

struct OpenFile {
  int fd = -1;
  std::size_t file = 0;
  std::uint64_t unread_bytes = 0; ///< closed when it reaches 0
};

/// A read in flight, or a host buffer whose copy to the device may still be going on.
struct Slot {
  std::vector<iovec> vectors;
  std::byte* buffer = nullptr;
  bool staged = false;
  std::size_t part = 0;
  std::uint64_t begin = 0; ///< within the load
  std::uint64_t bytes = 0; ///< that the load needs
  std::uint64_t done = 0;
  Extent extent;
  std::size_t open_file = 0;
  int retries = 0;
};

struct Cursor {
  std::uint64_t next = 0;        ///< within the load
  std::size_t open_file = 0;     ///< valid while the extent at `next` is being read
  std::uint64_t extent_left = 0; ///< bytes of it that no request covers yet
};

std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Drops the first `bytes` of a list of vectors.
void advance(std::vector<iovec>& vectors, std::uint64_t bytes) {
  std::size_t whole = 0;
  while (whole < vectors.size() && bytes >= vectors[whole].iov_len)
    bytes -= vectors[whole++].iov_len;
  vectors.erase(vectors.begin(), vectors.begin() + static_cast<std::ptrdiff_t>(whole));
  if (bytes == 0 || vectors.empty()) return;
  vectors[0].iov_base = static_cast<std::byte*>(vectors[0].iov_base) + bytes;
  vectors[0].iov_len -= bytes;
}

} // namespace

class Transfer::Run {
public:
  Run(Transfer& transfer, const StoreFiles& files, const PieceMap& pieces,
      const std::vector<TransferPart>& parts, const TransferOptions& options)
      : m_queue(transfer.m_queue), m_device(transfer.m_device), m_files(files), m_pieces(pieces),
        m_parts(parts), m_options(options), m_host(transfer.m_device.host_address()),
        m_cursors(parts.size()) {
    const std::uint64_t buffers =
        std::max<std::uint64_t>(transfer.m_staging.bytes() / options.request_bytes, 1);
    m_depth = std::max(1u, std::min(options.depth, m_queue.depth()));
    m_slots.resize(static_cast<std::size_t>(std::min<std::uint64_t>(
        m_host != nullptr ? m_depth : 2 * std::uint64_t{m_depth}, buffers)));
    m_depth = std::min<unsigned>(m_depth, static_cast<unsigned>(m_slots.size()));
    for (std::size_t i = 0; i < m_slots.size(); ++i) {
      m_slots[i].buffer = transfer.m_staging.data() + i * options.request_bytes;
      m_free.push_back(m_slots.size() - 1 - i);
    }
  }

  void operator()() {
    try {
      while (start_reads() || m_in_flight > 0)
        finish_one();
      m_device.synchronize();
    } catch (...) {
      abandon();
      throw;
    }
  }

private:
  /// True while a read is in flight afterwards.
  bool start_reads() {
    while (m_in_flight < m_depth) {
      Cursor* cursor = next_cursor();
      if (cursor == nullptr) break;
      if (m_free.empty()) {
        if (m_copying.empty()) break;
        m_device.synchronize(); // reads in flight go on meanwhile
        m_free.swap(m_copying);
      }
      const std::size_t slot = m_free.back();
      m_free.pop_back();
      start(slot, *cursor);
    }
    return m_in_flight > 0;
  }

  /// Loads take turns.
  Cursor* next_cursor() {
    for (std::size_t tried = 0; tried < m_cursors.size(); ++tried) {
      Cursor& cursor = m_cursors[m_turn];
      m_turn = (m_turn + 1) % m_cursors.size();
      if (cursor.next < m_pieces.bytes()) return &cursor;
    }
    return nullptr;
  }

  void start(std::size_t index, Cursor& cursor) {
    Slot& slot = m_slots[index];
    slot.part = static_cast<std::size_t>(&cursor - m_cursors.data());
    const std::uint64_t position = (m_parts[slot.part].source + cursor.next) % m_files.total_bytes;
    Extent extent = m_files.locate(position);
    extent.bytes =
        std::min({extent.bytes, m_pieces.bytes() - cursor.next, m_files.total_bytes - position});
    if (cursor.extent_left == 0) enter(cursor, extent);
    slot.extent = extent;
    slot.open_file = cursor.open_file;
    slot.begin = cursor.next;
    slot.bytes = std::min(extent.bytes, m_options.request_bytes);
    slot.done = 0;
    slot.retries = 0;
    aim(slot);
    cursor.next += slot.bytes;
    cursor.extent_left -= slot.bytes;
    submit(index);
    ++m_in_flight;
  }

  void enter(Cursor& cursor, const Extent& extent) {
    cursor.extent_left = extent.bytes;
    if (!m_files.open_fds.empty()) return;
    const std::string& path = m_files.paths[extent.file];
    const int fd = system_calls().open(path.c_str(), m_files.open_flags, 0);
    if (fd < 0) fail("cannot open a file of the store", errno);
    const auto free = std::find_if(m_open.begin(), m_open.end(),
                                   [](const OpenFile& file) { return file.fd < 0; });
    cursor.open_file = static_cast<std::size_t>(free - m_open.begin());
    if (free == m_open.end()) m_open.emplace_back();
    m_open[cursor.open_file] = {fd, extent.file, extent.bytes};
  }

  /// Decides where the read lands.
  void aim(Slot& slot) {
    const std::uint64_t device = m_parts[slot.part].device;
    const std::uint64_t mask = m_options.alignment - 1;
    slot.vectors.clear();
    slot.staged = m_host == nullptr || !m_options.in_place ||
                  (m_pieces.pieces() > 1 && m_pieces.piece_bytes() < least_in_place_bytes);
    if (!slot.staged)
      m_pieces.for_each(slot.begin, slot.begin + slot.bytes,
                        [&](std::uint64_t, std::uint64_t to, std::uint64_t bytes) {
                          std::byte* address = m_host + device + to;
                          slot.staged |=
                              ((reinterpret_cast<std::uintptr_t>(address) | bytes) & mask) != 0;
                          slot.vectors.push_back({address, static_cast<std::size_t>(bytes)});
                        });
    if (!slot.staged && slot.vectors.size() <= most_vectors) return;
    slot.staged = true;
    slot.vectors.assign(
        1, {slot.buffer, static_cast<std::size_t>(round_up(slot.bytes, m_options.alignment))});
  }

  void submit(std::size_t index) {
    Slot& slot = m_slots[index];
    ReadRequest request;
    request.id = index;
    if (m_files.open_fds.empty()) {
      request.fd = m_open[slot.open_file].fd;
    } else {
      request.fd = m_files.open_fds[slot.extent.file];
      if (m_files.registered) request.registered_file = static_cast<int>(slot.extent.file);
    }
    request.offset = slot.extent.offset + slot.done;
    request.vectors = slot.vectors.data();
    request.vector_count = static_cast<int>(slot.vectors.size());
    m_queue.submit(request);
  }

  void finish_one() {
    const ReadCompletion completion = m_queue.wait();
    const std::size_t index = completion.id;
    Slot& slot = m_slots[index];
    --m_in_flight;
    if (!complete(slot, completion.result)) {
      submit(index);
      ++m_in_flight;
      return;
    }
    if (m_files.open_fds.empty()) finish_file(m_open[slot.open_file], slot.bytes);
    if (slot.staged) copy(slot);
    (slot.staged && m_host == nullptr ? m_copying : m_free).push_back(index);
  }

  /// Takes a result; false when the read must go on.
  bool complete(Slot& slot, std::int64_t result) {
    if (result == -EINTR || result == -EAGAIN) {
      if (++slot.retries > most_retries) fail("reading fails", static_cast<int>(-result));
      return false;
    }
    if (result < 0)
      fail(fmt::format("reading {} bytes at {} fails", slot.bytes, slot.extent.offset + slot.done),
           static_cast<int>(-result));
    if (slot.done + static_cast<std::uint64_t>(result) >= slot.bytes) return true;
    // A short read goes on where it ended, in whole units of the alignment.
    const std::uint64_t whole =
        static_cast<std::uint64_t>(result) / m_options.alignment * m_options.alignment;
    if (result == 0)
      throw error(error_kind::environment,
                  fmt::format("a file of the store ends at byte {} although more was written: it "
                              "was shortened or its file system lost data",
                              slot.extent.offset + slot.done));
    slot.retries = whole == 0 ? slot.retries + 1 : 0;
    if (slot.retries > most_retries) fail("reads stay shorter than a block", EIO);
    slot.done += whole;
    advance(slot.vectors, whole);
    return false;
  }

  void finish_file(OpenFile& file, std::uint64_t bytes) {
    file.unread_bytes -= bytes;
    if (file.unread_bytes > 0) return;
    system_calls().close(file.fd);
    file.fd = -1;
  }

  void copy(const Slot& slot) {
    const std::uint64_t device = m_parts[slot.part].device;
    m_runs.clear();
    m_pieces.for_each(slot.begin, slot.begin + slot.bytes,
                      [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
                        const std::byte* source = slot.buffer + (from - slot.begin);
                        if (m_host != nullptr)
                          stream_copy(m_host + device + to, source, bytes);
                        else
                          m_runs.push_back({device + to, source, static_cast<std::size_t>(bytes)});
                      });
    if (!m_runs.empty()) m_device.copy_in_runs(m_runs, slot.part);
  }

  /// Nothing may still write to memory or hold a file when an error leaves run().
  void abandon() noexcept {
    try {
      for (; m_in_flight > 0; --m_in_flight)
        m_queue.wait();
      m_device.synchronize();
    } catch (...) { // the first error is the one to tell
    }
    for (const OpenFile& file : m_open)
      if (file.fd >= 0) system_calls().close(file.fd);
  }

  [[noreturn]] static void fail(const std::string& what, int code) {
    throw error(error_kind::environment,
                fmt::format("{}: {}", what,
                            code == ESTALE ? "the server no longer knows the file (ESTALE)"
                                           : std::strerror(code)));
  }

  ReadQueue& m_queue;
  compute::DeviceBuffer& m_device;
  const StoreFiles& m_files;
  const PieceMap& m_pieces;
  const std::vector<TransferPart>& m_parts;
  const TransferOptions& m_options;
  std::byte* m_host;
  unsigned m_depth = 1, m_in_flight = 0;
  std::vector<Slot> m_slots;
  std::vector<std::size_t> m_free, m_copying;
  std::vector<OpenFile> m_open;
  std::vector<Cursor> m_cursors;
  std::vector<compute::DeviceRun> m_runs; ///< of one slot
  std::size_t m_turn = 0;
};

void Transfer::run(const StoreFiles& files, const PieceMap& pieces,
                   const std::vector<TransferPart>& parts, const TransferOptions& options) {
  Run(*this, files, pieces, parts, options)();
}

} // namespace breakeven::tier
