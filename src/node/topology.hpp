#pragma once

#include "node/node_files.hpp"

#include <cstdint>

/// NUMA nodes and last-level cache. Internal to the room.
namespace breakeven::node {

struct Topology {
  int numa_nodes = 0;                       ///< 0 = unknown
  std::uint64_t last_level_cache_bytes = 0; ///< all instances together; 0 = unknown
};

Topology topology_from_hwloc();                   ///< this machine
Topology topology_from_sysfs(const Files& files); ///< the same facts where hwloc cannot look

} // namespace breakeven::node
