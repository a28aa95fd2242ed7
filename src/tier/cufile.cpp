#include "tier/cufile.hpp"

#include "support/error.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace breakeven::tier {
namespace {

// The part of cufile.h (NVIDIA cuFile API reference guide) that is used here. Structures that the
// library fills are followed by room for what newer ones append.
struct Status {
  int error = 0, cuda_error = 0;
};
struct FileDescription {
  int type = 1; ///< CU_FILE_HANDLE_TYPE_OPAQUE_FD
  union {
    int fd;
    void* handle;
  } file{};
  const void* operations = nullptr;
};
struct DriverProperties {
  struct {
    unsigned major, minor;
    std::size_t poll_threshold, max_direct_io;
    unsigned status_flags, control_flags;
  } nvfs{};
  unsigned features = 0, rest[5]{};
  std::array<std::byte, 512> newer{};
};
constexpr unsigned allow_compat_bit = 1;

constexpr int gpus_in_statistics = 16;
struct GpuStatistics {
  std::array<char, 16> uuid;
  std::uint64_t read_bytes, read_Bps, read_utilisation, read_us;
  std::uint64_t reads, p2p_reads, nvfs_reads, posix_reads;
  std::array<std::uint64_t, 21> others; // kinds of reads, writes and registrations
};
struct Statistics {
  std::array<std::uint64_t, 2 * 6 + 10 + 2 * 15 + 12> operations; // level 1
  std::array<std::uint64_t, 64> size_histograms;                  // level 2
  std::uint32_t gpus;
  std::array<GpuStatistics, gpus_in_statistics> per_gpu;
  std::array<std::byte, 4096> newer;
};

const char* name_of(int code) {
  static constexpr std::pair<int, const char*> names[] = {
      {5001, "the kernel module nvidia-fs is not loaded"},
      {5004, "nvidia-fs has another version than libcufile"},
      {5005, "the version of nvidia-fs cannot be read"},
      {5007, "GPUDirect Storage is not supported on this platform"},
      {5008, "GPUDirect Storage is not supported for this file"},
      {5009, "GPUDirect Storage is not supported on this GPU"},
      {5010, "nvidia-fs reports an error"},
      {5011, "the CUDA driver reports an error"},
      {5012, "the device address is not valid"},
      {5016, "more memory than may be pinned"},
      {5018, "files of this kind are not supported"},
      {5020, "the file is not open with O_DIRECT"},
      {5025, "permission denied"},
      {5030, "internal error of cuFile (see cufile.log)"},
      {5034, "cufile.json disables I/O"},
      {5036, "GPU memory cannot be pinned"}};
  for (const auto& [known, name] : names)
    if (known == code) return name;
  return nullptr;
}

std::string describe(int code) {
  const char* name = name_of(code < 0 ? -code : code);
  return name != nullptr ? name : fmt::format("cuFile error {}", code);
}

std::string describe(const Status& status) {
  std::string text = describe(status.error);
  if (status.cuda_error != 0) text += fmt::format(" (CUDA driver error {})", status.cuda_error);
  return text;
}

[[noreturn]] void refuse(const std::string& what, const std::string& why) {
  throw error(error_kind::environment, what + ": " + why);
}

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

} // namespace

struct CuFile::Library {
  void* handle = nullptr;
  bool driver_open = false, counting = false;

  Status (*open)() = nullptr;
  Status (*close)() = nullptr;
  Status (*properties)(DriverProperties*) = nullptr;
  Status (*version)(int*) = nullptr;
  Status (*add_file)(void**, FileDescription*) = nullptr;
  void (*remove_file)(void*) = nullptr;
  Status (*add_buffer)(const void*, std::size_t, int) = nullptr;
  Status (*remove_buffer)(const void*) = nullptr;
  ssize_t (*read)(void*, void*, std::size_t, off_t, off_t) = nullptr;
  Status (*statistics_level)(int) = nullptr;
  Status (*statistics_start)() = nullptr;
  Status (*statistics_stop)() = nullptr;
  Status (*statistics)(Statistics*) = nullptr;

  template <class Function>
  bool find(Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(dlsym(handle, symbol));
    return function != nullptr;
  }

  bool find_all() {
    find(version, "cuFileGetVersion");
    if (!find(close, "cuFileDriverClose_v2")) find(close, "cuFileDriverClose");
    find(properties, "cuFileDriverGetProperties");
    find(statistics_level, "cuFileSetStatsLevel");
    find(statistics_start, "cuFileStatsStart");
    find(statistics_stop, "cuFileStatsStop");
    find(statistics, "cuFileGetStatsL3");
    return find(open, "cuFileDriverOpen") && find(add_file, "cuFileHandleRegister") &&
           find(remove_file, "cuFileHandleDeregister") && find(add_buffer, "cuFileBufRegister") &&
           find(remove_buffer, "cuFileBufDeregister") && find(read, "cuFileRead");
  }

  ~Library() {
    if (counting) statistics_stop();
    if (driver_open && close != nullptr) close();
    if (handle != nullptr) dlclose(handle);
  }
};

const std::string& CuFile::default_library() {
  static const std::string name = "libcufile.so.0";
  return name;
}

std::string CuFile::unavailable_reason(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return library + " not found";
  const bool cufile = dlsym(handle, "cuFileDriverOpen") != nullptr;
  dlclose(handle);
  return cufile ? "" : library + " is not cuFile";
}

CuFile::CuFile(const std::string& library, std::string root)
    : m_library(std::make_unique<Library>()), m_root(std::move(root)) {
  Library& cufile = *m_library;
  cufile.handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (cufile.handle == nullptr) refuse("GPUDirect Storage cannot be used", library + " not found");
  if (!cufile.find_all())
    refuse("GPUDirect Storage cannot be used", library + " lacks functions of cuFile");
  if (const Status status = cufile.open(); status.error != 0)
    refuse("cuFile does not start", describe(status));
  cufile.driver_open = true;
}

CuFile::~CuFile() = default;

std::string CuFile::version() const {
  int version = 0;
  if (m_library->version == nullptr || m_library->version(&version).error != 0) return "";
  return fmt::format("{}.{}.{}", version / 1000, version % 1000 / 10, version % 10);
}

std::string CuFile::nvidia_fs_version() const {
  const std::string line = first_line(m_root + "/proc/driver/nvidia-fs/version");
  const std::size_t colon = line.find(':'); // "version: 2.26.6"
  std::string text = colon == std::string::npos ? line : line.substr(colon + 1);
  text.erase(0, text.find_first_not_of(" \t"));
  return text.substr(0, text.find_first_of(" \t\r"));
}

/// The line is "Reads : n=12 ok=12 err=0 readMiB=3 ...".
std::int64_t CuFile::nvidia_fs_reads() const {
  std::ifstream file(m_root + "/proc/driver/nvidia-fs/stats");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("Reads", 0) != 0) continue;
    const std::size_t at = line.find(" ok=");
    if (at != std::string::npos) return std::strtoll(line.c_str() + at + 4, nullptr, 10);
  }
  return -1;
}

bool CuFile::compat_allowed() const {
  DriverProperties properties;
  if (m_library->properties == nullptr || m_library->properties(&properties).error != 0)
    return true;
  return (properties.nvfs.control_flags >> allow_compat_bit & 1) != 0;
}

void* CuFile::add_file(int fd) const {
  FileDescription description;
  description.file.fd = fd;
  void* file = nullptr;
  if (const Status status = m_library->add_file(&file, &description); status.error != 0)
    refuse("cuFile does not take a file of the store", describe(status));
  return file;
}

void CuFile::remove_file(void* file) const noexcept {
  m_library->remove_file(file);
}

std::string CuFile::add_buffer(std::byte* device, std::size_t bytes) const {
  const Status status = m_library->add_buffer(device, bytes, 0);
  return status.error == 0 ? "" : describe(status);
}

void CuFile::remove_buffer(std::byte* device) const noexcept {
  m_library->remove_buffer(device);
}

void CuFile::read(void* file, std::byte* base, std::size_t bytes, off_t file_offset,
                  off_t device_offset) const {
  while (bytes > 0) {
    const ssize_t got = m_library->read(file, base, bytes, file_offset, device_offset);
    if (got == -1 && errno == EINTR) continue;
    if (got == -1)
      refuse(fmt::format("reading {} bytes at {} through cuFile fails", bytes, file_offset),
             std::strerror(errno));
    if (got < 0)
      refuse(fmt::format("reading {} bytes at {} through cuFile fails", bytes, file_offset),
             describe(static_cast<int>(got)));
    if (got == 0)
      refuse("a file of the store is shorter than what was written",
             fmt::format("cuFile finds its end at byte {}", file_offset));
    bytes -= static_cast<std::size_t>(got);
    file_offset += got;
    device_offset += got;
  }
}

void CuFile::count_reads(bool on) {
  Library& cufile = *m_library;
  if (cufile.statistics_level == nullptr || cufile.statistics_start == nullptr ||
      cufile.statistics_stop == nullptr || cufile.statistics == nullptr || on == cufile.counting)
    return;
  constexpr int per_gpu = 3; // the level that tells the ways apart
  if (on)
    cufile.counting =
        cufile.statistics_level(per_gpu).error == 0 && cufile.statistics_start().error == 0;
  else
    cufile.counting = cufile.statistics_stop().error != 0;
}

CuFileReads CuFile::reads() const {
  CuFileReads reads;
  if (!m_library->counting) return reads;
  const auto statistics = std::make_unique<Statistics>();
  if (m_library->statistics(statistics.get()).error != 0) return reads;
  reads.known = true;
  for (std::uint32_t i = 0; i < statistics->gpus && i < gpus_in_statistics; ++i) {
    const GpuStatistics& gpu = statistics->per_gpu[i];
    reads.p2pdma += gpu.p2p_reads;
    reads.nvidia_fs += gpu.nvfs_reads;
    reads.host_memory += gpu.posix_reads;
  }
  return reads;
}

GdsPath judge_path(const GdsEvidence& evidence) {
  using Kind = GdsPath::Kind;
  const std::string module = evidence.nvidia_fs_version.empty()
                                 ? "the kernel module nvidia-fs is not loaded"
                                 : "nvidia-fs " + evidence.nvidia_fs_version + " is loaded";
  if (evidence.before.known && evidence.after.known) {
    const std::uint64_t p2pdma = evidence.after.p2pdma - evidence.before.p2pdma;
    const std::uint64_t nvidia_fs = evidence.after.nvidia_fs - evidence.before.nvidia_fs;
    const std::uint64_t host = evidence.after.host_memory - evidence.before.host_memory;
    if (host > 0)
      return {Kind::bounce,
              fmt::format("compat mode: cuFile counts {} of {} reads that went through host memory "
                          "({})",
                          host, host + p2pdma + nvidia_fs, module)};
    if (p2pdma > 0 && nvidia_fs > 0)
      return {Kind::peer_to_peer, "peer-to-peer (PCI P2PDMA and nvidia-fs)"};
    if (p2pdma > 0) return {Kind::peer_to_peer, "peer-to-peer (PCI P2PDMA)"};
    if (nvidia_fs > 0)
      return {Kind::peer_to_peer, "peer-to-peer (nvidia-fs " + evidence.nvidia_fs_version + ")"};
  }
  if (evidence.nvidia_fs_before >= 0 && evidence.nvidia_fs_after > evidence.nvidia_fs_before)
    return {Kind::peer_to_peer, "peer-to-peer (nvidia-fs " + evidence.nvidia_fs_version + ")"};
  if (evidence.nvidia_fs_version.empty() && !evidence.after.known)
    return {Kind::bounce, "compat mode: " + module + ", so reads go through host memory"};
  return {Kind::unproven, "unknown: no counter shows which way the reads took (" + module +
                              "; its counters need the module parameter rw_stats_enabled=1)"};
}

} // namespace breakeven::tier
