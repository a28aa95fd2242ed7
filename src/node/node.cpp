#include "node/node.hpp"

#include "node/cgroup.hpp"
#include "node/node_files.hpp"
#include "node/topology.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace breakeven::node {

namespace {

constexpr std::string_view gemm_features[] = {
    "fma",         "f16c",        "avx2",     "avx_vnni", "avx512f",  "avx512bw", "avx512_vnni",
    "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8", "amx_fp16", // x86
    "asimd",       "asimdhp",     "asimddp",  "bf16",     "i8mm",     "sve",      "sve2",
    "sme"}; // Arm

void read_cpu(const Files& files, NodeFacts& facts) {
  const std::string info = files.text("/proc/cpuinfo").value_or("");
  facts.cpu_model = value_of(info, "model name");
  if (facts.cpu_model.empty()) { // Arm names its cores by number
    const std::string maker = value_of(info, "CPU implementer"), part = value_of(info, "CPU part");
    if (!maker.empty() && !part.empty())
      facts.cpu_model = "CPU implementer " + maker + " part " + part;
  }
  std::string flags = value_of(info, "flags");
  if (flags.empty()) flags = value_of(info, "Features");
  const std::vector<std::string> words = split(flags, ' ');
  for (const std::string_view feature : gemm_features)
    if (std::find(words.begin(), words.end(), feature) != words.end())
      facts.cpu_features.emplace_back(feature);
  if (std::find(words.begin(), words.end(), "hypervisor") != words.end())
    facts.hypervisor = "unnamed";

  facts.logical_cpus = count_in_list(files.line("/sys/devices/system/cpu/online"));
  if (facts.logical_cpus == 0)
    for (const std::string& row : split(info, '\n'))
      if (std::string_view(row).starts_with("processor")) ++facts.logical_cpus;
  facts.governor = files.line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
}

/// Who runs this machine: Xen says so itself, clouds put their name into the firmware tables.
void read_hypervisor(const Files& files, bool this_machine, NodeFacts& facts) {
  if (const std::string xen = files.line("/sys/hypervisor/type"); !xen.empty())
    facts.hypervisor = xen;
  if (facts.hypervisor != "unnamed") return;
#if defined(__x86_64__) || defined(__i386__)
  if (this_machine) {
    unsigned leaf = 0, words[3] = {};
    __cpuid(0x40000000, leaf, words[0], words[1], words[2]);
    char name[13] = {};
    for (std::size_t i = 0; i < 12; ++i)
      name[i] = static_cast<char>(words[i / 4] >> (8 * (i % 4)) & 0xff);
    const std::string_view signature(name);
    if (signature.starts_with("KVM"))
      facts.hypervisor = "KVM";
    else if (signature == "Microsoft Hv")
      facts.hypervisor = "Hyper-V";
    else if (signature == "VMwareVMware")
      facts.hypervisor = "VMware";
    else if (signature == "XenVMMXenVMM")
      facts.hypervisor = "Xen";
    else if (!signature.empty())
      facts.hypervisor = printable(trimmed(signature));
  }
#else
  (void)this_machine;
#endif
  const std::string vendor = files.line("/sys/class/dmi/id/sys_vendor");
  if (facts.hypervisor == "unnamed" && !vendor.empty()) facts.hypervisor = printable(vendor);
}

void read_memory(const Files& files, NodeFacts& facts) {
  const std::string info = files.text("/proc/meminfo").value_or("");
  const auto kib = [&](const char* key) -> std::uint64_t {
    const std::string value = value_of(info, key); // "24684084 kB"
    const auto count = parse_number(std::string_view(value).substr(0, value.find(' ')));
    return count && *count < (1ull << 54) ? *count * 1024 : 0;
  };
  facts.memory_bytes = kib("MemTotal");
  facts.memory_available_bytes = kib("MemAvailable");
}

void read_limits(const Files& files, NodeFacts& facts) {
  const CgroupLimits limits = cgroup_limits(files, facts.memory_bytes);
  facts.cpu_quota = limits.cpu_quota;
  facts.memory_limit_bytes = limits.memory_limit;
  if (facts.memory_bytes > 0)
    facts.memory_available_bytes = std::min(facts.memory_available_bytes, limits.memory_available);
  else if (limits.memory_limit > 0)
    facts.memory_available_bytes = limits.memory_available;

  const int allowed =
      count_in_list(value_of(files.text("/proc/self/status").value_or(""), "Cpus_allowed_list"));
  int usable = allowed > 0 ? allowed : facts.logical_cpus;
  if (facts.logical_cpus > 0) usable = std::min(usable, facts.logical_cpus);
  // Rounded down: one thread too many gets the whole group stopped for the rest of each period.
  if (facts.cpu_quota > 0 && facts.cpu_quota < usable) usable = static_cast<int>(facts.cpu_quota);
  facts.usable_cpus = std::max(1, usable);

  const std::string locked =
      value_of(files.text("/proc/self/limits").value_or(""), "Max locked memory");
  const std::string soft = locked.substr(0, locked.find(' '));
  facts.memlock_limit_bytes = soft == "unlimited" ? UINT64_MAX : parse_number(soft).value_or(0);
}

void read_system(const Files& files, NodeFacts& facts) {
  std::string release = files.text("/etc/os-release").value_or("");
  if (release.empty()) release = files.text("/usr/lib/os-release").value_or("");
  for (const std::string& row : split(release, '\n'))
    if (std::string_view(row).starts_with("PRETTY_NAME=")) {
      facts.os = std::string(trimmed(row)).substr(12);
      std::erase(facts.os, '"');
    }
  facts.kernel = files.line("/proc/sys/kernel/osrelease");

  const std::string init_groups = files.text("/proc/1/cgroup").value_or("");
  facts.in_container = files.exists("/.dockerenv") || files.exists("/run/.containerenv");
  for (const char* runtime : {"docker", "kubepods", "containerd", "/lxc"})
    if (init_groups.find(runtime) != std::string::npos) facts.in_container = true;
}

/// PCI classes 0x03 (display) and 0x12 (processing accelerators); needs no driver.
void read_gpus(const Files& files, NodeFacts& facts) {
  const std::string devices = "/sys/bus/pci/devices";
  for (const std::string& address : files.names(devices)) {
    const std::string folder = devices + "/" + address;
    const std::string type = files.line(folder + "/class");
    if (!type.starts_with("0x03") && !type.starts_with("0x12")) continue;
    facts.gpus.push_back(files.line(folder + "/vendor") + ":" + files.line(folder + "/device"));
  }
  std::sort(facts.gpus.begin(), facts.gpus.end());
}

/// Memory in whole GiB, as the kernel's own share changes with its version.
std::string fingerprint(const NodeFacts& facts) {
  std::vector<std::string> words = facts.cpu_features;
  words.push_back(facts.cpu_model);
  words.push_back(std::to_string(facts.logical_cpus));
  words.push_back(std::to_string(facts.numa_nodes));
  words.push_back(std::to_string(facts.last_level_cache_bytes));
  words.push_back(std::to_string((facts.memory_bytes + (std::uint64_t{1} << 29)) >> 30));
  words.insert(words.end(), facts.gpus.begin(), facts.gpus.end());

  std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv
  for (const std::string& word : words)
    for (const char byte : word + '\n') {
      hash ^= static_cast<unsigned char>(byte);
      hash *= 0x100000001b3;
    }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

NodeFacts read_facts(const Files& files, bool this_machine) {
  NodeFacts facts;
  read_cpu(files, facts);
  read_hypervisor(files, this_machine, facts);
  read_memory(files, facts);
  read_limits(files, facts);
  read_system(files, facts);
  read_gpus(files, facts);
  Topology topology = topology_from_sysfs(files);
  if (this_machine) {
    const Topology hwloc = topology_from_hwloc();
    if (hwloc.numa_nodes > 0) topology.numa_nodes = hwloc.numa_nodes;
    if (hwloc.last_level_cache_bytes > 0)
      topology.last_level_cache_bytes = hwloc.last_level_cache_bytes;
  }
  facts.numa_nodes = std::max(1, topology.numa_nodes);
  facts.last_level_cache_bytes = topology.last_level_cache_bytes;
  facts.fingerprint = fingerprint(facts);
  return facts;
}

NodeFacts read_or_unknown(const std::string& root, bool this_machine) {
  try {
    return read_facts(Files(root), this_machine);
  } catch (const std::exception&) { // out of memory, or a file system that throws at us
    NodeFacts unknown;
    unknown.usable_cpus = 1;
    unknown.fingerprint = fingerprint(unknown);
    return unknown;
  }
}

} // namespace

NodeFacts inspect() {
  return read_or_unknown("", true);
}

NodeFacts inspect_below(const std::string& root) {
  return read_or_unknown(root, false);
}

} // namespace breakeven::node
