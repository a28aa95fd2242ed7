#pragma once

#include "tier/tier.hpp"

#include "host_buffer.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace breakeven::tier {

/// A directory on a real file system (the build's, as /tmp may be memory), removed at the end.
class TestDirectory {
public:
  TestDirectory() {
    std::string name = (std::filesystem::current_path() / "tier-test-XXXXXX").string();
    m_path = mkdtemp(name.data());
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return m_path; }
  [[nodiscard]] std::string spec(const std::string& keys = "") const {
    return "file:" + m_path + keys;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(m_path))
      result.push_back(entry.path().filename().string());
    return result;
  }

private:
  std::string m_path;
};

/// Chunks of 64 tokens x 16 KiB = 1 MiB.
inline TierOptions small_options(std::uint64_t max_load_bytes, int threads = 2) {
  TierOptions result;
  result.layout = {"test", 16384, 64, 16, 1};
  result.max_load_bytes = max_load_bytes;
  result.threads = threads;
  return result;
}

inline std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences)
    text += sentence + "\n";
  return text;
}

} // namespace breakeven::tier
