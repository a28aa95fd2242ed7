#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::node {

/// What machine this is. Unknown facts are empty or 0, never guessed.
struct NodeFacts {
  std::string cpu_model;
  int logical_cpus = 0; ///< online in the machine
  int usable_cpus = 0;  ///< by affinity mask and cgroup quota, at least 1
  double cpu_quota = 0; ///< CPUs by cgroup quota, may be a fraction; 0 = no quota
  /// Those that matter for GEMMs, by their /proc/cpuinfo names: avx2 avx512f avx512_bf16 amx_bf16
  /// sve ...
  std::vector<std::string> cpu_features;
  std::uint64_t last_level_cache_bytes = 0; ///< all instances together
  int numa_nodes = 1;                       ///< those without CPUs included
  std::uint64_t memory_bytes = 0;           ///< installed
  std::uint64_t memory_limit_bytes = 0;     ///< cgroup limit; 0 = none
  std::uint64_t memory_available_bytes =
      0; ///< usable now: limit or machine, reclaimable cache counted as free
  std::uint64_t memlock_limit_bytes = 0; ///< RLIMIT_MEMLOCK; UINT64_MAX = unlimited
  std::string os;                        ///< PRETTY_NAME
  std::string kernel;                    ///< uname -r
  std::string hypervisor;                ///< "" on bare metal or unknown
  std::string governor;                  ///< cpufreq governor of cpu0, "" when not exposed
  bool in_container = false;
  std::vector<std::string>
      gpus; ///< PCI "vendor:device" ids of display and compute controllers, sorted
  /// Stable over reboots and container limits: 64-bit FNV-1a of CPU model and features, CPU and
  /// NUMA counts, cache and memory size (GiB) and GPU models; 16 hex digits.
  std::string fingerprint;
};

/// Reads /proc, /sys, cgroup v1/v2 and hwloc. Never throws: what cannot be read stays unknown.
NodeFacts inspect();

/// As inspect(), with /proc, /sys and cgroup files read below `root` (tests).
NodeFacts inspect_below(const std::string& root);

} // namespace breakeven::node
