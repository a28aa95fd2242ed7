#pragma once

#include "doctor/gpu_facts.hpp"
#include "doctor/smart.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace breakeven::doctor {

/// A process that uses the CPUs now.
struct BusyProcess {
  int pid = 0;
  std::string name;
  double cpus = 0; ///< CPU seconds per second
};

/// What opening a directory as a file tier does tells.
struct DirectoryFacts {
  std::string problem; ///< why it cannot hold a tier: missing, not writable, ...; "" = it can
  bool direct = false; ///< a file in it opens with O_DIRECT
  std::string direct_reason;
  std::uint64_t free_bytes = 0; ///< for this user
  std::string file_system, mount_options, source;
  bool in_memory = false, network = false, compressing = false, virtual_disk = false;
  std::vector<std::string> drives; ///< "nvme0n1", ...: at the bottom of the stack
  std::string drive_text;          ///< with models and links
};

/// What can only be found out by trying it on the machine; tests put others in their place.
struct Probes {
  /// Sets up a ring; "" = it works, else why it does not.
  std::function<std::string()> io_uring;
  std::function<DirectoryFacts(const std::string& path)> directory;
  std::function<GpuReport()> gpus;
  /// The health log of a drive by its block device name.
  std::function<SmartResult(const std::string& drive)> smart;
  /// Those that take a tenth of a CPU or more, busiest first, this process left out.
  std::function<std::vector<BusyProcess>()> busy;
};

Probes real_probes();

} // namespace breakeven::doctor
