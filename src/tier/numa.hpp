#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::tier {

struct NumaNode {
  unsigned id = 0; ///< as the operating system numbers it
  std::uint64_t memory_bytes = 0;
  bool has_cpus = true; ///< false: memory only, as CXL expanders appear
  bool local = false;   ///< near the CPUs that this process may use
};

/// NUMA nodes that hold memory, by id; one node 0 where the machine tells nothing.
std::vector<NumaNode> numa_nodes();

/// Pages of the area will come from `node` and nowhere else. Call it before they are touched.
/// Returns the reason when the system refuses, else "".
std::string bind_memory(std::byte* area, std::uint64_t bytes, unsigned node);

} // namespace breakeven::tier
