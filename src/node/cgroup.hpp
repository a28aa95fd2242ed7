#pragma once

#include "node/node_files.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Limits that the control groups of this process set, v1 and v2. Internal to the room.
namespace breakeven::node {

struct CgroupLimits {
  double cpu_quota = 0;           ///< CPUs; 0 = none
  std::uint64_t memory_limit = 0; ///< bytes; 0 = none
  /// Bytes this process can still take before a limit is hit; UINT64_MAX = no limit.
  std::uint64_t memory_available = UINT64_MAX;
};

/// The folders of this process's group and of its ancestors as far as they are visible here, leaf
/// first; empty when the controller is not mounted. `controller` is "" for the v2 hierarchy.
std::vector<std::string> cgroup_folders(const Files& files, const std::string& controller);

/// The tightest limits over the whole path: an ancestor's limit binds as well.
/// `machine_bytes` tells a v1 "no limit" (a number larger than the machine) from a limit.
CgroupLimits cgroup_limits(const Files& files, std::uint64_t machine_bytes);

} // namespace breakeven::node
