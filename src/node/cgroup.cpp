#include "node/cgroup.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <optional>

namespace breakeven::node {

namespace {

struct Mount {
  std::string root, point; ///< the part of the hierarchy that is mounted, and where
};

bool lists(std::string_view comma_list, const std::string& word) {
  const std::vector<std::string> words = split(comma_list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// proc_pid_mountinfo(5): id parent dev root point options optional... - type source super-options
std::optional<Mount> find_mount(const Files& files, const std::string& controller) {
  std::optional<Mount> found;
  for (const std::string& row : split(files.text("/proc/self/mountinfo").value_or(""), '\n')) {
    const std::size_t dash = row.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> left = split(row.substr(0, dash), ' ');
    const std::vector<std::string> right = split(row.substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    const bool fits = controller.empty() ? right[0] == "cgroup2"
                                         : right[0] == "cgroup" && lists(right[2], controller);
    if (fits) found = Mount{left[3], left[4]}; // a later mount hides an earlier one
  }
  return found;
}

/// The process's path in the hierarchy. Rows of /proc/self/cgroup: id:controllers:path.
std::optional<std::string> group_path(const Files& files, const std::string& controller) {
  for (const std::string& row : split(files.text("/proc/self/cgroup").value_or(""), '\n')) {
    const std::size_t first = row.find(':');
    const std::size_t second = row.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = row.substr(first + 1, second - first - 1);
    if (controller.empty() ? names.empty() : lists(names, controller))
      return row.substr(second + 1);
  }
  return std::nullopt;
}

void tighten(double& limit, double candidate) {
  if (candidate > 0 && (limit <= 0 || candidate < limit)) limit = candidate;
}

/// What a group has left under `limit`: page cache does not count, the kernel drops it first.
std::uint64_t left_under(std::uint64_t limit, std::uint64_t used, std::uint64_t reclaimable) {
  const std::uint64_t held = used - std::min(used, reclaimable);
  return limit - std::min(limit, held);
}

std::uint64_t stat_sum(const std::string& text, std::initializer_list<const char*> keys) {
  std::uint64_t sum = 0;
  for (const char* key : keys)
    sum += parse_number(value_of(text, key)).value_or(0);
  return sum;
}

void apply_memory_limit(CgroupLimits& limits, std::uint64_t limit, std::uint64_t used,
                        std::uint64_t reclaimable) {
  if (limits.memory_limit == 0 || limit < limits.memory_limit) limits.memory_limit = limit;
  limits.memory_available = std::min(limits.memory_available, left_under(limit, used, reclaimable));
}

void read_v2(const Files& files, std::uint64_t machine_bytes, CgroupLimits& limits) {
  for (const std::string& folder : cgroup_folders(files, "")) {
    const std::vector<std::string> cpu = split(files.line(folder + "/cpu.max"), ' ');
    if (cpu.size() == 2) {
      const double quota = static_cast<double>(parse_number(cpu[0]).value_or(0));
      const double period = static_cast<double>(parse_number(cpu[1]).value_or(0));
      if (period > 0) tighten(limits.cpu_quota, quota / period);
    }
    // memory.high stalls a group that goes over it, so it binds like memory.max.
    for (const char* name : {"/memory.max", "/memory.high"}) {
      const auto limit = files.number(folder + name);
      const auto used = files.number(folder + "/memory.current");
      if (!limit || !used || (machine_bytes > 0 && *limit >= machine_bytes)) continue;
      const std::string stat = files.text(folder + "/memory.stat").value_or("");
      apply_memory_limit(limits, *limit, *used,
                         stat_sum(stat, {"inactive_file", "active_file", "slab_reclaimable"}));
    }
  }
}

void read_v1(const Files& files, std::uint64_t machine_bytes, CgroupLimits& limits) {
  for (const std::string& folder : cgroup_folders(files, "cpu")) {
    const double quota =
        static_cast<double>(files.number(folder + "/cpu.cfs_quota_us").value_or(0)); // -1 = none
    const double period =
        static_cast<double>(files.number(folder + "/cpu.cfs_period_us").value_or(0));
    if (period > 0) tighten(limits.cpu_quota, quota / period);
  }
  for (const std::string& folder : cgroup_folders(files, "memory")) {
    const std::string stat = files.text(folder + "/memory.stat").value_or("");
    auto limit = files.number(folder + "/memory.limit_in_bytes");
    // Ancestors outside a container's view show up in the hierarchical limit only.
    if (const auto whole = parse_number(value_of(stat, "hierarchical_memory_limit")))
      limit = std::min(limit.value_or(UINT64_MAX), *whole);
    const auto used = files.number(folder + "/memory.usage_in_bytes");
    if (!limit || !used || *limit >= (1ull << 62) || (machine_bytes > 0 && *limit >= machine_bytes))
      continue;
    apply_memory_limit(limits, *limit, *used,
                       stat_sum(stat, {"total_inactive_file", "total_active_file"}));
  }
}

} // namespace

std::vector<std::string> cgroup_folders(const Files& files, const std::string& controller) {
  const auto mount = find_mount(files, controller);
  const auto path = group_path(files, controller);
  if (!mount || !path) return {};
  // In a container the mount shows only the container's part: strip it. A path outside the mount
  // ("/.." in a namespace, or another branch) leaves the mount point itself.
  std::string below;
  if (mount->root == "/")
    below = *path;
  else if (*path == mount->root || path->starts_with(mount->root + "/"))
    below = path->substr(mount->root.size());
  if (below.find("..") != std::string::npos) below.clear();
  while (!below.empty() && below.back() == '/')
    below.pop_back();

  std::vector<std::string> folders;
  while (!below.empty()) {
    if (files.exists(mount->point + below)) folders.push_back(mount->point + below);
    below.erase(below.rfind('/'));
  }
  folders.push_back(mount->point);
  return folders;
}

CgroupLimits cgroup_limits(const Files& files, std::uint64_t machine_bytes) {
  CgroupLimits limits;
  read_v2(files, machine_bytes, limits);
  read_v1(files, machine_bytes, limits);
  return limits;
}

} // namespace breakeven::node
