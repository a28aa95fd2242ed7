#pragma once

#include "tier/tier.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::tier {

enum class FileAccess { engine, ideal, both };
enum class DirectMode { automatic, on, off };

/// `file:DIR[,DIR2...][,access=...][,chunk_tokens=N][,o_direct=...]`, checked.
struct FileSpec {
  std::vector<std::string> directories; ///< "." when none is given
  FileAccess access = FileAccess::both;
  DirectMode direct = DirectMode::automatic;
  std::int64_t chunk_tokens = 0; ///< 0 = as the layout says
};
FileSpec parse_file_spec(const TierSpec& spec);

/// Sizes of what a file tier writes.
struct FilePlan {
  std::uint64_t chunk_bytes = 0;      ///< KV bytes of one chunk
  std::uint64_t chunk_file_bytes = 0; ///< the same in whole blocks
  std::uint64_t chunks = 0;           ///< files; 0 = no engine access
  std::uint64_t ideal_bytes = 0;      ///< all directories together; 0 = no ideal access
  [[nodiscard]] std::uint64_t scratch_bytes() const {
    return chunks * chunk_file_bytes + ideal_bytes;
  }
};

inline constexpr std::uint64_t file_block_bytes = 4096;
/// Consecutive bytes of the large files that lie in one directory; no request is larger.
inline constexpr std::uint64_t stripe_bytes = 4u << 20;
inline constexpr std::uint64_t most_scratch_bytes = 4ull << 30;

/// Throws error::usage for a chunk that is larger than all scratch space may be.
FilePlan plan_files(const FileSpec& spec, const TierOptions& options);

} // namespace breakeven::tier
