#include "tier/direct_io.hpp"

#include "tier/file_handle.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace breakeven::tier {
namespace {

/// The part of struct statx that C libraries older than the kernel lack; see statx(2).
struct StatxPrefix {
  std::uint32_t mask;
  std::uint8_t skipped[148];
  std::uint32_t dio_mem_align, dio_offset_align;
  std::uint8_t rest[96];
};
static_assert(sizeof(StatxPrefix) == 256);
constexpr unsigned statx_dioalign = 0x2000;

/// 0 = the kernel or the file system does not say.
std::uint64_t alignment_by_statx(int fd) {
#ifdef SYS_statx
  StatxPrefix facts{};
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, statx_dioalign, &facts) != 0) return 0;
  if ((facts.mask & statx_dioalign) == 0) return 0;
  return std::max(facts.dio_mem_align, facts.dio_offset_align);
#else
  (void)fd;
  return 0;
#endif
}

} // namespace

DirectSupport probe_direct(const std::string& path) {
  DirectSupport support;
  const FileHandle file(system_calls().open(path.c_str(), O_RDONLY | O_DIRECT, 0));
  if (!file) {
    support.reason = errno == EINVAL ? "its file system has no O_DIRECT" : std::strerror(errno);
    return support;
  }
  support.works = true;
  const std::uint64_t alignment = alignment_by_statx(file.get());
  const bool usable = alignment >= 512 && (alignment & (alignment - 1)) == 0;
  if (usable && alignment <= support.alignment) support.alignment = alignment;
  return support;
}

} // namespace breakeven::tier
