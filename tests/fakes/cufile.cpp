// A stand-in for libcufile.so.0 whose "device memory" is host memory. Words in the environment
// variable BREAKEVEN_FAKE_CUFILE say which way reads take and what goes wrong.

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

bool word(const char* name) {
  const char* words = std::getenv("BREAKEVEN_FAKE_CUFILE");
  return words != nullptr && std::strstr(words, name) != nullptr;
}

struct Status {
  int error, cuda_error;
};

struct File {
  int fd;
};
std::atomic<int> files{0}, buffers{0}, drivers{0};
std::atomic<std::uint64_t> reads{0};
std::atomic<bool> counting{false};

} // namespace

extern "C" {

struct Description {
  int type;
  union {
    int fd;
    void* handle;
  } file;
  const void* operations;
};
struct Properties {
  unsigned major, minor;
  std::size_t poll_threshold, max_direct_io;
  unsigned status_flags, control_flags;
  unsigned features, rest[5];
};
struct GpuStatistics {
  char uuid[16];
  std::uint64_t read_bytes, read_Bps, read_utilisation, read_us;
  std::uint64_t reads, p2p_reads, nvfs_reads, posix_reads;
  std::uint64_t others[21];
};
struct Statistics {
  std::uint64_t levels[12 + 10 + 30 + 12 + 64];
  std::uint32_t gpus;
  GpuStatistics per_gpu[16];
};

int fake_cufile_open_things() {
  return files + buffers + drivers + (counting ? 1 : 0);
}

Status cuFileDriverOpen() {
  if (word("nodriver")) return {5001, 0};
  ++drivers;
  return {};
}
Status cuFileDriverClose() {
  --drivers;
  return {};
}
Status cuFileGetVersion(int* version) {
  *version = 1151;
  return {};
}
Status cuFileDriverGetProperties(Properties* properties) {
  *properties = {};
  properties->control_flags = word("strict") ? 0 : 2;
  return {};
}
Status cuFileHandleRegister(void** handle, Description* description) {
  if (word("badfile")) return {5008, 0};
  if ((fcntl(description->file.fd, F_GETFL) & O_DIRECT) == 0) return {5020, 0};
  *handle = new File{description->file.fd};
  ++files;
  return {};
}
void cuFileHandleDeregister(void* handle) {
  delete static_cast<File*>(handle);
  --files;
}
Status cuFileBufRegister(const void*, std::size_t, int) {
  if (word("noregister")) return {5011, 2};
  ++buffers;
  return {};
}
Status cuFileBufDeregister(const void*) {
  --buffers;
  return {};
}
ssize_t cuFileRead(void* handle, void* base, std::size_t bytes, off_t at, off_t offset) {
  if (word("eio")) {
    errno = EIO;
    return -1;
  }
  if (word("ioctl")) return -5010;
  if (counting) ++reads;
  if (word("short") && bytes > 8192) bytes = bytes / 2 / 4096 * 4096;
  // As cuFile does: what is not aligned goes through blocks that are.
  constexpr std::size_t block = 4096;
  const std::size_t skip = static_cast<std::size_t>(at) % block;
  const std::size_t whole = (skip + bytes + block - 1) / block * block;
  void* aligned = std::aligned_alloc(block, whole);
  if (aligned == nullptr) return -5046;
  ssize_t got =
      pread(static_cast<File*>(handle)->fd, aligned, whole, at - static_cast<off_t>(skip));
  if (got >= 0) {
    got = got > static_cast<ssize_t>(skip) ? got - static_cast<ssize_t>(skip) : 0;
    if (got > static_cast<ssize_t>(bytes)) got = static_cast<ssize_t>(bytes);
    if (!word("lose"))
      std::memcpy(static_cast<char*>(base) + offset, static_cast<char*>(aligned) + skip,
                  static_cast<std::size_t>(got));
  }
  std::free(aligned);
  return got;
}
Status cuFileSetStatsLevel(int) {
  return {word("nostats") ? 5022 : 0, 0};
}
Status cuFileStatsStart() {
  counting = true;
  return {};
}
Status cuFileStatsStop() {
  counting = false;
  return {};
}
Status cuFileGetStatsL3(Statistics* statistics) {
  *statistics = {};
  statistics->gpus = 2;
  GpuStatistics& gpu = statistics->per_gpu[1];
  const std::uint64_t count = reads;
  if (word("p2pdma")) gpu.p2p_reads = count;
  if (word("nvfs")) gpu.nvfs_reads = count;
  if (word("posix")) gpu.posix_reads = count;
  if (word("half")) gpu.posix_reads = count / 2;
  return {};
}
}
