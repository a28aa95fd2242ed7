#include "tier/file_store.hpp"

#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"
#include "tier/direct_io.hpp"
#include "tier/page_cache.hpp"
#include "tier/pattern.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

namespace breakeven::tier {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::uint64_t buffer_bytes = 16u << 20;
constexpr std::uint64_t most_measured_bytes = 256u << 20;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

[[noreturn]] void refuse_write(const std::string& directory, int code) {
  const std::string why =
      code == ENOSPC   ? "the file system is full; free some space or name another directory"
      : code == EDQUOT ? "this user's disk quota is used up; free some or name another directory"
      : code == EFBIG  ? "files of this size are not allowed there (ulimit -f)"
                       : std::strerror(code);
  throw error(error_kind::environment,
              "writing scratch files to '" + printable(directory) + "' fails: " + why);
}

} // namespace

FileStore::FileStore(const FileSpec& spec, const FilePlan& plan, std::uint64_t seed)
    : m_plan(plan), m_seed(seed), m_buffer(buffer_bytes, "writing scratch files") {
  for (const std::string& path : spec.directories)
    m_directories.emplace_back(path);
  require_space();
  raise_file_limit();
}

/// Directories may share a file system: what they ask of it adds up.
void FileStore::require_space() const {
  constexpr std::uint64_t margin_bytes = 32u << 20; // metadata, and something for everybody else
  struct Need {
    std::uint64_t bytes = margin_bytes;
    std::int64_t free = 0;
    std::string directory;
  };
  std::map<dev_t, Need> needs;
  for (const ScratchDirectory& directory : m_directories) {
    struct stat facts {};
    if (fstat(directory.fd(), &facts) != 0) continue;
    Need& need = needs[facts.st_dev];
    need.bytes += m_plan.scratch_bytes() / m_directories.size();
    need.free = system_calls().free_bytes(directory.fd());
    need.directory = directory.path();
  }
  for (const auto& [device, need] : needs)
    if (need.free >= 0 && static_cast<std::uint64_t>(need.free) < need.bytes)
      throw error(
          error_kind::environment,
          fmt::format("'{}' has {} free, and the file tier needs {} of scratch space there; "
                      "free some, name another directory or ask for a shorter --max-prefix",
                      printable(need.directory), format_bytes(static_cast<double>(need.free)),
                      format_bytes(static_cast<double>(need.bytes))));
}

/// Every chunk file stays open, and a load opens them once more.
void FileStore::raise_file_limit() const {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = m_plan.chunks + 512;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return;
  throw error(error_kind::environment,
              fmt::format("the file tier needs {} open files, one per chunk, and this process may "
                          "have {} (ulimit -n); raise that, set a larger chunk_tokens or ask for a "
                          "shorter --max-prefix",
                          wanted, limit.rlim_max));
}

std::string FileStore::choose_access(DirectMode wanted) {
  m_direct = false;
  if (wanted == DirectMode::off) return "o_direct=off was asked for";
  std::uint64_t alignment = 512;
  for (ScratchDirectory& directory : m_directories) {
    const ScratchFile probe = directory.create();
    const DirectSupport support = probe_direct(probe.path);
    alignment = std::max(alignment, support.alignment);
    if (support.works) continue;
    const std::string reason =
        "O_DIRECT is refused in '" + printable(directory.path()) + "': " + support.reason;
    if (wanted == DirectMode::on)
      throw error(error_kind::environment, reason + "; leave out o_direct=on, or name another "
                                                    "directory");
    return reason;
  }
  m_direct = true;
  m_alignment = alignment;
  return "";
}

ScratchFile FileStore::create(std::size_t directory, std::uint64_t bytes) {
  ScratchFile file = m_directories[directory].create();
  // Contiguous where possible, and a full file system shows before the time is spent.
  if (system_calls().fallocate(file.file.get(), 0, 0, static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
    refuse_write(m_directories[directory].path(), errno);
  return file;
}

/// Writes `bytes` of the stream from `first` on; with `stripe` not 0, after each 4 MiB the stream
/// skips that many bytes, which lie in other directories. Returns the seconds spent writing.
double FileStore::write_file(ThreadTeam& team, const ScratchFile& file, std::size_t directory,
                             std::uint64_t bytes, std::uint64_t first, std::uint64_t stripe,
                             bool direct) {
  FileHandle reopened;
  if (direct) reopened = FileHandle(system_calls().open(file.path.c_str(), O_WRONLY | O_DIRECT, 0));
  const int fd = reopened ? reopened.get() : file.file.get();
  double seconds = 0;
  for (std::uint64_t at = 0; at < bytes;) {
    const std::uint64_t part = std::min(buffer_bytes, bytes - at);
    team.run((part + stripe_bytes - 1) / stripe_bytes, [&](std::size_t i) {
      const std::uint64_t within = i * stripe_bytes;
      const std::uint64_t unit = (at + within) / stripe_bytes;
      fill_pattern(m_buffer.data() + within, std::min(stripe_bytes, part - within), m_seed,
                   first + at + within + unit * stripe);
    });
    const clock::time_point start = clock::now();
    for (std::uint64_t done = 0; done < part;) {
      const ssize_t written = system_calls().pwrite(fd, m_buffer.data() + done, part - done,
                                                    static_cast<off_t>(at + done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse_write(m_directories[directory].path(), errno);
      auto whole = static_cast<std::uint64_t>(written);
      if (direct && done + whole < part) whole = whole / file_block_bytes * file_block_bytes;
      if (whole == 0) refuse_write(m_directories[directory].path(), ENOSPC);
      done += whole;
    }
    seconds += seconds_since(start);
    at += part;
  }
  return seconds;
}

FileStore::StoreRates FileStore::write(ThreadTeam& team) {
  const auto sync = [&](const ScratchFile& file, std::size_t directory) {
    const clock::time_point start = clock::now();
    if (system_calls().fdatasync(file.file.get()) != 0)
      refuse_write(m_directories[directory].path(), errno);
    return seconds_since(start);
  };
  struct Total {
    std::uint64_t bytes = 0;
    double seconds = 0;
    [[nodiscard]] double rate() const {
      return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
    }
  } written, synced;
  const std::uint64_t measured =
      std::clamp<std::uint64_t>(most_measured_bytes / m_plan.chunk_file_bytes, 1,
                                std::max<std::uint64_t>(m_plan.chunks / 4, 1));
  for (std::uint64_t i = 0; i < m_plan.chunks; ++i) {
    const std::size_t directory = i % m_directories.size();
    const bool measure_written = i < measured,
               measure_synced = !measure_written && i < 2 * measured;
    const clock::time_point start = clock::now();
    if (measure_written || measure_synced)
      m_chunks.push_back(m_directories[directory].create()); // as engines do: it grows by writing
    else
      m_chunks.push_back(create(directory, m_plan.chunk_file_bytes));
    double seconds = seconds_since(start);
    seconds +=
        write_file(team, m_chunks.back(), directory, m_plan.chunk_file_bytes,
                   i * m_plan.chunk_bytes, 0, m_direct && !measure_written && !measure_synced);
    const double sync_seconds = measure_written ? 0 : sync(m_chunks.back(), directory);
    if (measure_written) {
      written.bytes += m_plan.chunk_bytes;
      written.seconds += seconds;
    } else if (measure_synced) {
      synced.bytes += m_plan.chunk_bytes;
      synced.seconds += seconds + sync_seconds;
    }
    if (i + 1 == measured) // the page cache starts clean for the synced stores
      for (std::size_t j = 0; j < m_chunks.size(); ++j)
        sync(m_chunks[j], j % m_directories.size());
  }
  for (std::size_t i = 0; m_plan.ideal_bytes > 0 && i < m_directories.size(); ++i) {
    const std::uint64_t bytes = m_plan.ideal_bytes / m_directories.size();
    m_large.push_back(create(i, bytes));
    write_file(team, m_large.back(), i, bytes, i * stripe_bytes,
               (m_directories.size() - 1) * stripe_bytes, m_direct);
    sync(m_large.back(), i);
    const int flags = O_RDONLY | (m_direct ? O_DIRECT : 0);
    m_large_readers.emplace_back(system_calls().open(m_large.back().path.c_str(), flags, 0));
    if (!m_large_readers.back()) refuse_write(m_directories[i].path(), errno);
  }
  drop_page_cache();
  constexpr auto settle = std::chrono::milliseconds(300); // for drives that tidy up after writes
  std::this_thread::sleep_for(settle);
  return {written.rate(), synced.rate()};
}

StoreFiles FileStore::chunk_files() const {
  StoreFiles files;
  for (const ScratchFile& file : m_chunks)
    files.paths.push_back(file.path);
  files.open_flags = O_RDONLY | (m_direct ? O_DIRECT : 0);
  files.total_bytes = m_plan.chunks * m_plan.chunk_bytes;
  files.locate = [chunk = m_plan.chunk_bytes](std::uint64_t position) {
    return Extent{position / chunk, position % chunk, chunk - position % chunk};
  };
  return files;
}

StoreFiles FileStore::ideal_files() const {
  StoreFiles files;
  for (const FileHandle& file : m_large_readers)
    files.open_fds.push_back(file.get());
  files.total_bytes = m_plan.ideal_bytes;
  files.locate = [count = m_large_readers.size()](std::uint64_t position) {
    const std::uint64_t stripe = position / stripe_bytes, within = position % stripe_bytes;
    return Extent{stripe % count, stripe / count * stripe_bytes + within, stripe_bytes - within};
  };
  return files;
}

StoreFiles FileStore::ideal_files(std::size_t directory) const {
  StoreFiles files = ideal_files();
  files.total_bytes = m_plan.ideal_bytes / m_large_readers.size();
  files.locate = [directory](std::uint64_t position) {
    const std::uint64_t within = position % stripe_bytes;
    return Extent{directory, position, stripe_bytes - within};
  };
  return files;
}

template <class Visit>
void FileStore::for_each_file(Visit visit) const {
  for (const ScratchFile& file : m_chunks)
    visit(file.file.get(), m_plan.chunk_file_bytes);
  for (const ScratchFile& file : m_large)
    visit(file.file.get(), m_plan.ideal_bytes / m_directories.size());
}

std::int64_t FileStore::cached() const {
  std::int64_t total = 0;
  for_each_file([&](int fd, std::uint64_t bytes) {
    const auto held = cached_bytes(fd, bytes);
    if (!held || total < 0)
      total = -1;
    else
      total += static_cast<std::int64_t>(*held);
  });
  return total;
}

std::int64_t FileStore::drop_page_cache() {
  for_each_file([](int fd, std::uint64_t) { drop_cached(fd); });
  return cached();
}

} // namespace breakeven::tier
