#pragma once

#include <cstdint>
#include <string>

namespace breakeven::tier {

struct DirectSupport {
  bool works = false;
  std::string reason;             ///< why it does not
  std::uint64_t alignment = 4096; ///< of memory, offsets and sizes
};

/// Opens the file at `path` with O_DIRECT; asks statx() for the alignment (kernel 6.1), and takes
/// 4096 where it does not know.
DirectSupport probe_direct(const std::string& path);

} // namespace breakeven::tier
