#include "doctor/checks.hpp"

#include "node/cgroup.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <cmath>

/// Control groups and huge pages.
namespace breakeven::doctor {
namespace {

Finding cpu_limit(const Context& context, const node::CgroupLimits& limits) {
  Finding finding{"CPU limit", State::ok, "none",
                  "a group above its quota is stopped for the rest of each period: steps stutter",
                  ""};
  if (limits.cpu_quota <= 0) return finding;
  finding.found = fmt::format("{:.1f} of {} CPUs; {} threads are used", limits.cpu_quota,
                              context.node.logical_cpus, context.node.usable_cpus);
  const bool whole = std::fabs(limits.cpu_quota - std::round(limits.cpu_quota)) < 0.01;
  finding.state = State::note;
  finding.fix = whole ? "serve under the same limit, or calibrate without it"
                      : "give a whole number of CPUs: the fraction is not used";
  return finding;
}

/// Rows of cpu.stat: v1 and v2 both have nr_throttled.
void add_throttling(const Context& context, std::vector<Finding>& findings) {
  std::uint64_t most = 0;
  for (const char* controller : {"", "cpu"})
    for (const std::string& folder : node::cgroup_folders(context.files, controller)) {
      const std::string stat = context.files.text(folder + "/cpu.stat").value_or("");
      most = std::max(most, node::parse_number(node::value_of(stat, "nr_throttled")).value_or(0));
    }
  if (most == 0) return;
  findings.push_back({"CPU throttling", State::warning,
                      fmt::format("this group was stopped {} times for using up its quota", most),
                      "steps that are stopped half-way are measured long",
                      "raise the quota, or use fewer --threads"});
}

Finding memory_limit(const node::CgroupLimits& limits) {
  constexpr double tight_bytes = 4.0 * (1U << 30);
  Finding finding{"memory limit", State::ok, "none",
                  "the KV buffer, the tiers' source data and the model's layers must fit; page "
                  "cache counts as free",
                  ""};
  if (limits.memory_limit == 0) return finding;
  const auto left = static_cast<double>(limits.memory_available);
  finding.found =
      fmt::format("{}, {} of it free", format_bytes(static_cast<double>(limits.memory_limit)),
                  format_bytes(left));
  if (left < tight_bytes) {
    finding.state = State::warning;
    finding.fix = "raise it, or calibrate with a shorter --max-prefix";
  }
  return finding;
}

} // namespace

std::vector<Finding> check_control_groups(const Context& context) {
  const node::CgroupLimits limits = node::cgroup_limits(context.files, context.node.memory_bytes);
  std::vector<Finding> findings = {cpu_limit(context, limits), memory_limit(limits)};
  add_throttling(context, findings);
  return findings;
}

std::vector<Finding> check_huge_pages(const Context& context) {
  const std::string modes = context.files.line("/sys/kernel/mm/transparent_hugepage/enabled");
  Finding transparent{"transparent huge pages", State::ok, modes,
                      "large buffers in 4 KiB pages miss the TLB: copies out of host memory are "
                      "slower",
                      ""};
  if (modes.empty()) {
    transparent.state = State::unknown;
    transparent.found = "the kernel does not show them";
    transparent.fix = "use a kernel built with them (CONFIG_TRANSPARENT_HUGEPAGE)";
  } else if (modes.find("[never]") != std::string::npos) {
    transparent.state = State::warning;
    transparent.fix = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
  }
  const auto reserved = context.files.number("/proc/sys/vm/nr_hugepages").value_or(0);
  std::vector<Finding> findings = {transparent};
  if (reserved > 0)
    findings.push_back(
        {"reserved huge pages", State::note, fmt::format("{} pages", reserved),
         "they are kept from everybody who does not ask for them, and breakeven does "
         "not",
         "sysctl -w vm.nr_hugepages=0 unless the engine uses them"});
  return findings;
}

} // namespace breakeven::doctor
