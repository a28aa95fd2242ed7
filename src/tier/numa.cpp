#include "tier/numa.hpp"

#include <hwloc.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace breakeven::tier {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  return hwloc_topology_load(raw) == 0 ? std::move(topology) : nullptr;
}

/// CPUs this process may run on; the whole machine when the system does not say.
hwloc_bitmap_t usable_cpus(hwloc_topology_t topology) {
  hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
  if (hwloc_get_cpubind(topology, cpus, HWLOC_CPUBIND_PROCESS) != 0)
    hwloc_bitmap_copy(cpus, hwloc_topology_get_topology_cpuset(topology));
  return cpus;
}

/// A node without CPUs of its own inherits the cpuset of the nearest package, so that two nodes
/// share one; the kernel's own view of the node decides.
bool has_own_cpus(hwloc_obj_t node) {
  if (node->cpuset == nullptr || hwloc_bitmap_iszero(node->cpuset)) return false;
  for (hwloc_obj_t other = node->prev_sibling; other != nullptr; other = other->prev_sibling)
    if (other->type == HWLOC_OBJ_NUMANODE && other->cpuset != nullptr &&
        hwloc_bitmap_isequal(other->cpuset, node->cpuset))
      return false;
  return true;
}

} // namespace

std::vector<NumaNode> numa_nodes() {
  std::vector<NumaNode> nodes;
  if (const Topology topology = load_topology()) {
    hwloc_bitmap_t usable = usable_cpus(topology.get());
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_NUMANODE, object))) {
      if (object->attr->numanode.local_memory == 0) continue;
      NumaNode node;
      node.id = object->os_index;
      node.memory_bytes = object->attr->numanode.local_memory;
      node.has_cpus = has_own_cpus(object);
      node.local = node.has_cpus && hwloc_bitmap_intersects(object->cpuset, usable) != 0;
      nodes.push_back(node);
    }
    hwloc_bitmap_free(usable);
  }
  if (nodes.empty()) nodes.push_back({0, 0, true, true});
  return nodes;
}

std::string bind_memory(std::byte* area, std::uint64_t bytes, unsigned node) {
  const Topology topology = load_topology();
  if (!topology) return "hwloc cannot read this machine's topology";
  hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
  hwloc_bitmap_only(nodes, node);
  const int result = hwloc_set_area_membind(topology.get(), area, bytes, nodes, HWLOC_MEMBIND_BIND,
                                            HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_STRICT);
  const std::string reason = result == 0 ? "" : std::strerror(errno);
  hwloc_bitmap_free(nodes);
  return reason;
}

} // namespace breakeven::tier
