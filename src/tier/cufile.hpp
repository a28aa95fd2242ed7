#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <sys/types.h>

namespace breakeven::tier {

/// How many reads took which way, by cuFile's own count.
struct CuFileReads {
  bool known = false;            ///< this cuFile counts (it does from CUDA 12.9 / 13.0 on)
  std::uint64_t p2pdma = 0;      ///< the kernel's PCI peer-to-peer DMA
  std::uint64_t nvidia_fs = 0;   ///< through the kernel module nvidia-fs
  std::uint64_t host_memory = 0; ///< POSIX reads into host memory, copied from there
};

/// cuFile, the user side of GPUDirect Storage, loaded at run time. Paths of files and devices
/// belong to the caller. reads of one CuFile may run in many threads at once.
class CuFile {
public:
  /// "libcufile.so.0"
  static const std::string& default_library();
  /// "" when the library can be loaded, else why not, as a part of a sentence.
  static std::string unavailable_reason(const std::string& library = default_library());

  /// Loads the library and opens its driver. Throws error::environment with its reason.
  /// /proc is read below `root` (tests).
  explicit CuFile(const std::string& library = default_library(), std::string root = "");
  ~CuFile();
  CuFile(const CuFile&) = delete;
  CuFile& operator=(const CuFile&) = delete;

  /// "1.15.1"; "" = unknown.
  [[nodiscard]] std::string version() const;
  /// Of the loaded kernel module nvidia-fs; "" when it is not loaded.
  [[nodiscard]] std::string nvidia_fs_version() const;
  /// Reads that nvidia-fs has finished for anybody since it was loaded; negative = not counted.
  [[nodiscard]] std::int64_t nvidia_fs_reads() const;
  /// Whether cufile.json lets it fall back to host memory when peer-to-peer fails.
  [[nodiscard]] bool compat_allowed() const;

  /// Registers an open file, O_DIRECT for peer-to-peer. Throws error::environment.
  [[nodiscard]] void* add_file(int fd) const;
  void remove_file(void* file) const noexcept;
  /// Pins device memory for DMA. Returns "" or why it stays unregistered, which is slower.
  [[nodiscard]] std::string add_buffer(std::byte* device, std::size_t bytes) const;
  void remove_buffer(std::byte* device) const noexcept;

  /// Reads into device memory at `base + offset`; `base` is registered, or else cuFile copies once
  /// more. Goes on after short reads. Throws error::environment.
  void read(void* file, std::byte* base, std::size_t bytes, off_t file_offset,
            off_t device_offset) const;

  /// Counting slows reads down: it goes on only where asked for.
  void count_reads(bool on);
  [[nodiscard]] CuFileReads reads() const;

private:
  struct Library;
  std::unique_ptr<Library> m_library;
  std::string m_root;
};

/// What the counters before and after some reads say about the way that they took.
struct GdsPath {
  enum class Kind { peer_to_peer, bounce, unproven };
  Kind kind = Kind::unproven;
  std::string sentence; ///< "peer-to-peer (nvidia-fs 2.26)", "compat mode: ...", ...
};
struct GdsEvidence {
  CuFileReads before, after;
  std::int64_t nvidia_fs_before = -1, nvidia_fs_after = -1;
  std::string nvidia_fs_version;
};
/// Only counted reads prove anything: what cufile.json allows and what is loaded do not.
GdsPath judge_path(const GdsEvidence& evidence);

} // namespace breakeven::tier
