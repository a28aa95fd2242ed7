#pragma once

#include "tier/file_handle.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::tier {

struct ScratchFile {
  FileHandle file;  ///< open for reading and writing, through the page cache
  std::string path; ///< opens the same file again while `file` is open
};

/// Makes scratch files in a directory that vanish with the process, however it ends: without a
/// name (O_TMPFILE), else with a name that is removed at once. Where a file system has neither, or
/// such files cannot be opened a second time, they keep names in a private directory; the next run
/// in the same place removes what a killed one left there. Files of others are never touched.
class ScratchDirectory {
public:
  /// Throws error::environment when `path` is no directory or cannot be written.
  explicit ScratchDirectory(const std::string& path);
  ~ScratchDirectory();
  ScratchDirectory(ScratchDirectory&&) noexcept;
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;

  ScratchFile create();

  [[nodiscard]] const std::string& path() const { return m_path; }
  [[nodiscard]] int fd() const { return m_directory.get(); }
  /// "O_TMPFILE", "unlinked at creation" or "named files in a private directory".
  [[nodiscard]] std::string method() const;
  /// Sentences: what an earlier run left here and this one removed.
  [[nodiscard]] const std::vector<std::string>& notes() const { return m_notes; }

  enum class Method { temporary, unlinked, named };
  /// Starts with a less able method (tests of the fall-backs).
  void use(Method method) { m_method = method; }

private:
  ScratchFile create_temporary();
  ScratchFile create_unlinked();
  ScratchFile create_named();
  bool reopens(const ScratchFile& file) const;
  void clean_leftovers();
  void clean_leftover(const std::string& name);
  [[noreturn]] void refuse(int code) const;

  std::string m_path;
  FileHandle m_directory;
  Method m_method = Method::temporary;
  std::string m_private_name; ///< of the private directory; "" = there is none
  FileHandle m_private, m_lock;
  std::uint64_t m_created = 0;
  std::vector<std::string> m_notes;
};

} // namespace breakeven::tier
