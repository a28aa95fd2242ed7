#include "tier/page_cache.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace breakeven::tier {

std::optional<std::uint64_t> cached_bytes(int fd, std::uint64_t bytes) {
  if (bytes == 0) return 0;
  void* area = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (area == MAP_FAILED) return std::nullopt;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident((bytes + page - 1) / page);
  const int result = mincore(area, bytes, resident.data());
  munmap(area, bytes);
  if (result != 0) return std::nullopt;
  const auto pages = std::count_if(resident.begin(), resident.end(),
                                   [](unsigned char flags) { return (flags & 1) != 0; });
  return std::min(bytes, static_cast<std::uint64_t>(pages) * page);
}

void drop_cached(int fd) {
  fdatasync(fd); // dirty pages cannot be dropped
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

} // namespace breakeven::tier
