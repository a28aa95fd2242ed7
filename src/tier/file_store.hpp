#pragma once

#include "tier/file_plan.hpp"
#include "tier/scratch.hpp"
#include "tier/thread_team.hpp"
#include "tier/transfer.hpp"

#include <string>
#include <vector>

namespace breakeven::tier {

/// The scratch files of a file tier: one per chunk of tokens, and one large file per directory.
/// Fully written with incompressible data that occurs once.
class FileStore {
public:
  /// Throws error::environment when a directory cannot be used or lacks the space.
  FileStore(const FileSpec& spec, const FilePlan& plan, std::uint64_t seed);

  /// Finds out whether O_DIRECT works, and the alignment it wants. Throws error::environment when
  /// the spec insists on it in vain. Returns the reason for reading through the page cache, or "".
  std::string choose_access(DirectMode wanted);
  /// After proof that O_DIRECT reads leave pages in the cache all the same.
  void give_up_direct() { m_direct = false; }

  struct StoreRates {
    double written_Bps = 0; ///< write() returned: the data may be in the page cache
    double synced_Bps = 0;  ///< fdatasync() returned
  };
  /// Writes everything and lets it settle; measures stores on the way, file per chunk.
  StoreRates write(ThreadTeam& team);

  [[nodiscard]] StoreFiles chunk_files() const;
  [[nodiscard]] StoreFiles ideal_files() const; ///< striped over all directories
  [[nodiscard]] StoreFiles ideal_files(std::size_t directory) const; ///< of one

  /// Drops cached pages of all files; returns how many bytes stayed, -1 = cannot be told.
  std::int64_t drop_page_cache();
  /// Bytes of all files that the page cache holds, -1 = cannot be told.
  [[nodiscard]] std::int64_t cached() const;

  [[nodiscard]] bool direct() const { return m_direct; }
  [[nodiscard]] std::uint64_t alignment() const { return m_direct ? m_alignment : 1; }
  [[nodiscard]] std::vector<ScratchDirectory>& directories() { return m_directories; }

private:
  void require_space() const;
  void raise_file_limit() const;
  ScratchFile create(std::size_t directory, std::uint64_t bytes);
  double write_file(ThreadTeam& team, const ScratchFile& file, std::size_t directory,
                    std::uint64_t bytes, std::uint64_t first, std::uint64_t stripe, bool direct);
  template <class Visit>
  void for_each_file(Visit visit) const;

  FilePlan m_plan;
  std::uint64_t m_seed;
  std::vector<ScratchDirectory> m_directories;
  std::vector<ScratchFile> m_chunks, m_large;
  std::vector<FileHandle> m_large_readers;
  HostMemory m_buffer;
  bool m_direct = false;
  std::uint64_t m_alignment = file_block_bytes;
};

} // namespace breakeven::tier
