#include "node/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <type_traits>

namespace breakeven::node {

namespace {

bool is_numbered(const std::string& name, const std::string& prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// "32K", "266240K", "4M" as in .../cache/index3/size.
std::uint64_t parse_cache_size(std::string text) {
  std::uint64_t unit = 1;
  if (!text.empty() && (text.back() == 'K' || text.back() == 'M')) {
    unit = text.back() == 'K' ? 1024 : 1024 * 1024;
    text.pop_back();
  }
  const std::uint64_t count = parse_number(text).value_or(0);
  return count < (1ull << 40) ? count * unit : 0;
}

} // namespace

Topology topology_from_hwloc() {
  Topology result;
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return result;
  const std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>
      topology(raw, &hwloc_topology_destroy);
  // The machine, not this container's share of it: the fingerprint must not follow the limits.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(raw) != 0) return result;
  result.numa_nodes = std::max(0, hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_NUMANODE));
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
    hwloc_obj_t cache = nullptr;
    while ((cache = hwloc_get_next_obj_by_type(raw, type, cache)) != nullptr)
      result.last_level_cache_bytes += cache->attr->cache.size;
    if (result.last_level_cache_bytes > 0) break;
  }
  return result;
}

Topology topology_from_sysfs(const Files& files) {
  Topology result;
  for (const std::string& name : files.names("/sys/devices/system/node"))
    if (is_numbered(name, "node")) ++result.numa_nodes;

  std::uint64_t deepest = 0;
  std::set<std::string> seen; // one cache shows up below each CPU that shares it
  const std::string cpus = "/sys/devices/system/cpu";
  for (const std::string& cpu : files.names(cpus)) {
    if (!is_numbered(cpu, "cpu")) continue;
    const std::string caches = cpus + "/" + cpu + "/cache";
    for (const std::string& index : files.names(caches)) {
      const std::string folder = caches + "/" + index;
      const std::uint64_t level = files.number(folder + "/level").value_or(0);
      if (level < 2 || level < deepest || files.line(folder + "/type") == "Instruction") continue;
      if (level > deepest) {
        deepest = level;
        result.last_level_cache_bytes = 0;
        seen.clear();
      }
      if (seen.insert(files.line(folder + "/shared_cpu_list")).second)
        result.last_level_cache_bytes += parse_cache_size(files.line(folder + "/size"));
    }
  }
  return result;
}

} // namespace breakeven::node
