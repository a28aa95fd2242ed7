#pragma once

#include "breakeven/live_policy.hpp"
#include "breakeven/policy_file.hpp"

#include <sys/stat.h>

namespace breakeven {

/// Keeps a LivePolicy equal to a break-even file. Call check() now and then from one thread of your
/// own (there is no thread inside). `breakeven calibrate` replaces the file by renaming, so a
/// reload sees the old or the new one, never half of it.
class PolicyReloader {
public:
  /// Throws policy_file_error when the first read fails.
  explicit PolicyReloader(std::string path)
      : m_path(std::move(path)), m_seen(stamp()), m_file(load_policy(m_path)),
        m_live(m_file.policy) {}

  [[nodiscard]] const LivePolicy& live() const noexcept { return m_live; }
  [[nodiscard]] LivePolicy& live() noexcept { return m_live; }
  /// Facts of the file that was read last without error.
  [[nodiscard]] const PolicyFacts& facts() const noexcept { return m_file.facts; }

  /// Reads the file again when it changed. True when a new policy was published. A file that is
  /// gone or wrong keeps the old policy; `message` then says why, once per change.
  bool check(std::string& message) {
    message.clear();
    const Stamp now = stamp();
    if (now == m_seen) return false;
    m_seen = now;
    PolicyFile file = try_load_policy(m_path, message);
    if (!file.policy) return false;
    m_live.publish(file.policy);
    m_file = std::move(file);
    return true;
  }

private:
  /// What changes when a file is replaced or rewritten.
  struct Stamp {
    ino_t inode = 0;
    off_t bytes = -1;
    std::int64_t seconds = 0, nanoseconds = 0;
    bool operator==(const Stamp& other) const noexcept {
      return inode == other.inode && bytes == other.bytes && seconds == other.seconds &&
             nanoseconds == other.nanoseconds;
    }
  };
  [[nodiscard]] Stamp stamp() const noexcept {
    struct stat facts {};
    Stamp result;
    if (::stat(m_path.c_str(), &facts) != 0) return result;
    result.inode = facts.st_ino;
    result.bytes = facts.st_size;
    result.seconds = static_cast<std::int64_t>(facts.st_mtim.tv_sec);
    result.nanoseconds = static_cast<std::int64_t>(facts.st_mtim.tv_nsec);
    return result;
  }

  std::string m_path;
  Stamp m_seen;
  PolicyFile m_file;
  LivePolicy m_live;
};

} // namespace breakeven
