#include "profile/profile.hpp"

#include "profile/text_file.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace breakeven::profile {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_file_bytes = 256u << 20;

[[noreturn]] void fail(const std::string& action, const std::string& path, int code) {
  std::string hint;
  if (code == ENOSPC || code == EDQUOT) hint = "; free some space or choose another place with -o";
  if (code == EACCES || code == EROFS || code == EPERM) hint = "; choose another place with -o";
  throw error(error_kind::environment, fmt::format("cannot {} {}: {}{}", action, printable(path),
                                                   std::strerror(code), hint));
}

class Descriptor {
public:
  explicit Descriptor(int fd) : m_fd(fd) {}
  ~Descriptor() {
    if (m_fd >= 0) ::close(m_fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return m_fd; }

private:
  int m_fd;
};

/// Where a write really lands: symbolic links followed, so that a link stays a link.
struct Target {
  fs::path path;
  fs::path directory;
  bool replaceable = true; ///< false for devices and pipes, which are written in place
  mode_t mode = 0;         ///< of the existing file; 0 = new file
};

Target resolve(const std::string& path) {
  Target target;
  if (path.empty()) throw error(error_kind::usage, "the output path is empty");
  std::error_code ignored;
  target.path = fs::exists(path, ignored) ? fs::canonical(path, ignored) : fs::path(path);
  struct stat info {};
  if (::stat(target.path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) fail("write", path, EISDIR);
    target.replaceable = S_ISREG(info.st_mode);
    target.mode = info.st_mode & 07777;
  }
  target.directory = target.path.has_parent_path() ? target.path.parent_path() : fs::path(".");
  if (!fs::is_directory(target.directory, ignored)) {
    throw error(error_kind::environment,
                fmt::format("cannot write {}: the directory {} does not exist", printable(path),
                            printable(target.directory.string())));
  }
  return target;
}

void write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// A file that has a name only for as long as it takes to rename it over the target.
class Replacement {
public:
  explicit Replacement(const Target& target)
      : m_temporary(target.directory /
                    fmt::format(".{}.{}.tmp", target.path.filename().string(), ::getpid())),
        m_fd(open_unnamed(target)), m_named(false) {
    if (m_fd.get() >= 0) return;
    m_named = true; // no O_TMPFILE on this file system
    m_fallback.emplace(::open(m_temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (m_fallback->get() < 0) {
      m_named = false;
      fail("write in", target.directory.string(), errno);
    }
  }
  ~Replacement() {
    if (m_named) ::unlink(m_temporary.c_str());
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  [[nodiscard]] int fd() const { return m_fallback ? m_fallback->get() : m_fd.get(); }

  void rename_over(const Target& target, const std::string& path) {
    if (!m_named) {
      const std::string handle = fmt::format("/proc/self/fd/{}", fd());
      if (::linkat(AT_FDCWD, handle.c_str(), AT_FDCWD, m_temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
        fail("write", path, errno);
      m_named = true;
    }
    if (::rename(m_temporary.c_str(), target.path.c_str()) != 0) fail("write", path, errno);
    m_named = false;
    const Descriptor directory(
        ::open(target.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.get() >= 0) ::fsync(directory.get()); // best effort: the data itself is safe
  }

private:
  static int open_unnamed(const Target& target) {
    return ::open(target.directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  }
  fs::path m_temporary;
  Descriptor m_fd;
  std::optional<Descriptor> m_fallback;
  bool m_named;
};

} // namespace

BreakEvenFile read_file(const std::string& path) {
  std::error_code code;
  if (fs::is_directory(path, code))
    throw error(error_kind::bad_input, printable(path) + " is a directory, not a break-even file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw error(error_kind::bad_input,
                fmt::format("cannot open {}: {}", printable(path), std::strerror(errno)));
  if (fs::is_regular_file(path, code) && fs::file_size(path, code) > largest_file_bytes)
    throw error(error_kind::bad_input,
                printable(path) + " is larger than 256 MiB, so it is not a break-even file");
  std::string text;
  char block[1 << 16];
  while (stream.read(block, sizeof block) || stream.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(stream.gcount()));
    if (text.size() > largest_file_bytes)
      throw error(error_kind::bad_input, printable(path) + " is larger than 256 MiB");
  }
  if (stream.bad())
    throw error(error_kind::bad_input,
                fmt::format("cannot read {}: {}", printable(path), std::strerror(errno)));
  return from_json_text(text, printable(path));
}

void write_file(const BreakEvenFile& file, const std::string& path) {
  write_text(to_json_text(file), path);
}

void write_text(const std::string& text, const std::string& path) {
  const Target target = resolve(path);
  if (!target.replaceable) {
    const Descriptor device(::open(target.path.c_str(), O_WRONLY | O_CLOEXEC));
    if (device.get() < 0) fail("write", path, errno);
    write_all(device.get(), text, path);
    return;
  }
  Replacement replacement(target);
  write_all(replacement.fd(), text, path);
  if (target.mode != 0) ::fchmod(replacement.fd(), target.mode);
  if (::fsync(replacement.fd()) != 0) fail("write", path, errno);
  replacement.rename_over(target, path);
}

void require_writable(const std::string& path) {
  const Target target = resolve(path);
  if (!target.replaceable) {
    if (::access(target.path.c_str(), W_OK) != 0) fail("write", path, errno);
    return;
  }
  const Replacement probe(target);
}

} // namespace breakeven::profile
