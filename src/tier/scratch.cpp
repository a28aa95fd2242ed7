#include "tier/scratch.hpp"

#include "support/error.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>

namespace breakeven::tier {
namespace {

constexpr const char* private_prefix = ".breakeven-scratch-";
constexpr const char* lock_name = "lock";
constexpr const char* file_prefix = "chunk-";

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

/// Names in a directory, without "." and "..".
std::vector<std::string> names_in(int directory) {
  std::vector<std::string> names;
  const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(fd), closedir);
  if (!stream) {
    ::close(fd);
    return names;
  }
  while (const dirent* entry = readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

} // namespace

ScratchDirectory::ScratchDirectory(const std::string& path) : m_path(path) {
  m_directory = FileHandle(system_calls().open(path.c_str(), O_RDONLY | O_DIRECTORY, 0));
  if (!m_directory) refuse(errno);
  clean_leftovers();
}

ScratchDirectory::ScratchDirectory(ScratchDirectory&&) noexcept = default;

ScratchDirectory::~ScratchDirectory() {
  if (!m_private) return;
  for (std::uint64_t i = 0; i < m_created; ++i)
    unlinkat(m_private.get(), fmt::format("{}{}", file_prefix, i).c_str(), 0);
  unlinkat(m_private.get(), lock_name, 0);
  unlinkat(m_directory.get(), m_private_name.c_str(), AT_REMOVEDIR);
}

std::string ScratchDirectory::method() const {
  switch (m_method) {
  case Method::temporary:
    return "O_TMPFILE";
  case Method::unlinked:
    return "unlinked at creation";
  case Method::named:
    break;
  }
  return "named files in a private directory";
}

void ScratchDirectory::refuse(int code) const {
  const std::string place = "directory '" + printable(m_path) + "'";
  const auto fail = [](const std::string& sentence) {
    throw error(error_kind::environment, sentence);
  };
  switch (code) {
  case ENOENT:
    fail(place + " does not exist; create it or name another");
    break;
  case ENOTDIR:
    fail("'" + printable(m_path) + "' is not a directory");
    break;
  case EROFS:
    fail(place + " is on a file system that is mounted read-only");
    break;
  case EACCES:
  case EPERM:
    fail(place + " may not be written by this user (permission denied); name one of your own");
    break;
  case ENOSPC:
    fail(place + ": there is no space left on its file system");
    break;
  case EDQUOT:
    fail(place + ": this user's disk quota is used up");
    break;
  case EMFILE:
    fail(place + ": too many open files for this process (raise ulimit -n)");
    break;
  case ESTALE:
    fail(place + ": its server no longer knows it (stale file handle)");
    break;
  default:
    fail(place + " cannot hold scratch files: " + std::strerror(code));
  }
  __builtin_unreachable();
}

ScratchFile ScratchDirectory::create() {
  while (true) {
    ScratchFile file = m_method == Method::temporary  ? create_temporary()
                       : m_method == Method::unlinked ? create_unlinked()
                                                      : create_named();
    if (file.file && (m_method == Method::named || reopens(file))) return file;
    m_method = m_method == Method::temporary ? Method::unlinked : Method::named;
  }
}

/// Returns no file where the file system has no O_TMPFILE; throws for every other refusal.
ScratchFile ScratchDirectory::create_temporary() {
  FileHandle file(system_calls().open(m_path.c_str(), O_RDWR | O_TMPFILE, 0600));
  if (!file) {
    if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT) return {};
    refuse(errno);
  }
  std::string path = fmt::format("/proc/self/fd/{}", file.get());
  return {std::move(file), std::move(path)};
}

ScratchFile ScratchDirectory::create_unlinked() {
  for (unsigned attempt = 0; attempt < 1000; ++attempt) {
    const std::string name =
        fmt::format("{}/{}{}-{}-{}", m_path, private_prefix, getpid(), m_created, attempt);
    FileHandle file(system_calls().open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
    if (!file && errno == EEXIST) continue;
    if (!file) refuse(errno);
    ::unlink(name.c_str());
    ++m_created;
    std::string path = fmt::format("/proc/self/fd/{}", file.get());
    return {std::move(file), std::move(path)};
  }
  refuse(EEXIST);
}

ScratchFile ScratchDirectory::create_named() {
  if (!m_private) {
    std::string name = m_path + "/" + private_prefix + "XXXXXX";
    if (mkdtemp(name.data()) == nullptr) refuse(errno);
    m_private_name = name.substr(m_path.size() + 1);
    m_created = 0;
    m_private = FileHandle(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    m_lock =
        FileHandle(openat(m_private.get(), lock_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!m_private || !m_lock) refuse(errno);
    flock(m_lock.get(), LOCK_EX | LOCK_NB); // says "in use" to a run that cleans up
  }
  std::string path = fmt::format("{}/{}/{}{}", m_path, m_private_name, file_prefix, m_created);
  FileHandle file(system_calls().open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
  if (!file) refuse(errno);
  ++m_created;
  return {std::move(file), std::move(path)};
}

bool ScratchDirectory::reopens(const ScratchFile& file) const {
  return static_cast<bool>(FileHandle(system_calls().open(file.path.c_str(), O_RDONLY, 0)));
}

void ScratchDirectory::clean_leftovers() {
  for (const std::string& name : names_in(m_directory.get()))
    if (starts_with(name, private_prefix)) clean_leftover(name);
}

/// Removes a private directory of a run that was killed: ours by owner, not locked by a living run,
/// and in it only names that create_named() gives. Anything else stays, and so does the directory.
void ScratchDirectory::clean_leftover(const std::string& name) {
  const FileHandle directory(
      openat(m_directory.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!directory || fstat(directory.get(), &facts) != 0 || facts.st_uid != geteuid()) return;
  const FileHandle lock(openat(directory.get(), lock_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (lock) {
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  } else {
    constexpr std::time_t starting_s = 60; // another run may be between mkdtemp() and its lock
    if (std::time(nullptr) - facts.st_mtime < starting_s) return;
  }
  for (const std::string& entry : names_in(directory.get()))
    if (starts_with(entry, file_prefix)) unlinkat(directory.get(), entry.c_str(), 0);
  unlinkat(directory.get(), lock_name, 0);
  if (unlinkat(m_directory.get(), name.c_str(), AT_REMOVEDIR) == 0)
    m_notes.push_back("removed the scratch files that an interrupted run left in '" +
                      printable(m_path + "/" + name) + "'");
}

} // namespace breakeven::tier
