#include "doctor/checks.hpp"

#include "support/units.hpp"

#include <fmt/format.h>

/// What file tiers need of the kernel to read fast.
namespace breakeven::doctor {
namespace {

constexpr unsigned cap_ipc_lock = 14; // linux/capability.h
/// The ring of host buffers that a file tier reads through and registers.
constexpr std::uint64_t staging_bytes = std::uint64_t{64} << 20;

/// Why a ring cannot be set up, by the setting that forbids it.
std::string io_uring_fix(const Context& context) {
  const std::string disabled = context.files.line("/proc/sys/kernel/io_uring_disabled");
  if (disabled == "2") return "allow it for everybody: sysctl -w kernel.io_uring_disabled=0";
  if (disabled == "1")
    return "run as a member of the group in kernel.io_uring_group, or sysctl -w "
           "kernel.io_uring_disabled=0";
  if (status_value(context, "Seccomp") == "2")
    return "a seccomp filter (a container's) stands in the way: start the container with a profile "
           "that allows io_uring_setup, io_uring_enter and io_uring_register, or with "
           "--security-opt seccomp=unconfined";
  return "use Linux 5.6 or newer and a build of this tool with liburing";
}

} // namespace

std::vector<Finding> check_io_uring(const Context& context) {
  const std::string why =
      "file tiers read through it; without it threads call pread(), which costs "
      "CPU time and throughput";
  const std::string refusal = context.probes.io_uring();
  if (refusal.empty()) return {{"io_uring", State::ok, "a ring could be set up", why, ""}};
  const std::string disabled = context.files.line("/proc/sys/kernel/io_uring_disabled");
  const std::string setting =
      disabled.empty() ? "" : fmt::format(" (kernel.io_uring_disabled={})", disabled);
  return {{"io_uring", State::warning, refusal + setting, why, io_uring_fix(context)}};
}

std::vector<Finding> check_locked_memory(const Context& context) {
  Finding finding{
      "locked memory", State::ok, "",
      fmt::format("buffers that the kernel keeps mapped (registered buffers) count "
                  "against it: {} to read through, and the device's KV buffer where the "
                  "host can write it",
                  format_bytes(static_cast<double>(staging_bytes))),
      ""};
  const std::uint64_t limit = context.node.memlock_limit_bytes;
  if (limit == UINT64_MAX) {
    finding.found = "no limit";
    return {finding};
  }
  finding.found = fmt::format("RLIMIT_MEMLOCK is {}", format_bytes(static_cast<double>(limit)));
  if (capable(context, cap_ipc_lock)) {
    finding.found += ", and CAP_IPC_LOCK lifts it";
    return {finding};
  }
  if (limit >= 16 * staging_bytes) return {finding};
  finding.state = limit < staging_bytes ? State::warning : State::note;
  finding.fix = "ulimit -l unlimited; LimitMEMLOCK=infinity in a systemd unit; --ulimit memlock=-1 "
                "for a container";
  return {finding};
}

} // namespace breakeven::doctor
