#include "doctor/checks.hpp"

#include "support/units.hpp"

#include <fmt/format.h>

#include <set>

/// The directories of file tiers and the drives below them.
namespace breakeven::doctor {
namespace {

void add_file_system(const std::string& name, const TierAsked& tier, const DirectoryFacts& facts,
                     std::vector<Finding>& findings) {
  Finding finding{"file system of " + name, State::ok,
                  facts.file_system + (facts.source.empty() ? "" : " on " + facts.source) +
                      (facts.drive_text.empty() ? "" : " (" + facts.drive_text + ")"),
                  "", ""};
  if (facts.in_memory) {
    finding.state = tier.requested ? State::missing : State::warning;
    finding.why = "its data lives in memory: a load from it says nothing about a drive, and it is "
                  "left uncalibrated";
    finding.fix = "name a directory on a drive: --tier file:DIR";
  } else if (facts.compressing) {
    finding.state = State::warning;
    finding.why = "compression costs CPU time on each read, and KV caches hardly shrink";
    finding.fix =
        "turn it off for this directory (btrfs property set DIR compression none; zfs set "
        "compression=off)";
  } else if (facts.network) {
    finding.state = State::note;
    finding.why =
        "the server's cache cannot be seen or dropped, so that loads may look faster than "
        "they stay";
    finding.fix = "fine when the server is the tier; else name a directory on a drive";
  } else if (facts.file_system == "overlay") {
    finding.state = State::warning;
    finding.why = "a container's own layer: slower to create files in, and gone with the container";
    finding.fix = "mount a volume of the drive into the container and name that";
  } else if (facts.virtual_disk) {
    finding.state = State::note;
    finding.why = "a virtual disk: the host's cache and rate limits cannot be seen, so short runs "
                  "may look faster than long ones";
    finding.fix = "pass a whole drive through to the virtual machine, or calibrate with a longer "
                  "--budget";
  }
  findings.push_back(std::move(finding));
}

void add_direct(const std::string& name, const DirectoryFacts& facts,
                std::vector<Finding>& findings) {
  Finding finding{"O_DIRECT in " + name, State::ok, "a file in it opens with O_DIRECT",
                  "reads past the page cache are what a cold load costs", ""};
  if (!facts.direct) {
    finding.state = State::warning;
    finding.found = facts.direct_reason;
    finding.fix =
        "use ext4, xfs or another file system with O_DIRECT; without it the page cache is "
        "dropped before each load";
  }
  findings.push_back(std::move(finding));
}

void add_space(const std::string& name, const TierAsked& tier, const DirectoryFacts& facts,
               std::vector<Finding>& findings) {
  // Directories of one tier share its data.
  const double needed = static_cast<double>(tier.scratch_bytes) /
                        static_cast<double>(std::max<std::size_t>(tier.directories.size(), 1));
  const auto free = static_cast<double>(facts.free_bytes);
  Finding finding{"free space in " + name, State::ok, format_bytes(free),
                  fmt::format("calibrating this tier with defaults writes {} of scratch data",
                              format_bytes(needed)),
                  ""};
  if (tier.scratch_bytes == 0) finding.why = "calibration writes scratch data";
  if (needed > free) {
    finding.state = tier.requested ? State::missing : State::warning;
    finding.fix = "free some, or calibrate with a shorter --max-prefix";
  }
  findings.push_back(std::move(finding));
}

Finding health_of(const std::string& drive, const SmartResult& result) {
  Finding finding{"health of " + drive, State::ok, "",
                  "a worn or hot drive reads slower than it did, and slower than its siblings", ""};
  if (!result.log) {
    finding.state = State::unknown;
    finding.found = result.reason;
    finding.fix = "as root, on the machine that has the drive: nvme smart-log, or smartctl -a";
    return finding;
  }
  const SmartLog& log = *result.log;
  finding.found = fmt::format("{} C, {} % of its endurance used, {} % spare blocks",
                              log.temperature_C, log.used_percent, log.spare_percent);
  const auto warn = [&](const std::string& what, const char* fix) {
    finding.state = State::warning;
    finding.found += "; " + what;
    finding.fix = fix;
  };
  if (log.throttled_minutes > 0)
    warn(fmt::format("ran above its warning temperature for {:.0f} minutes", log.throttled_minutes),
         "improve its cooling: it slows itself down when hot");
  if (log.too_hot) warn("too hot now", "improve its cooling: it slows itself down when hot");
  if (log.media_errors > 0)
    warn(fmt::format("{:.0f} media errors", log.media_errors), "back up and replace the drive");
  if (log.used_percent >= 100 || log.spare_low || log.unreliable)
    warn("at the end of its life", "replace the drive");
  if (log.read_only) warn("read-only", "replace the drive");
  return finding;
}

} // namespace

std::vector<Finding> check_directories(const Context& context) {
  std::vector<Finding> findings;
  std::set<std::string> seen;
  for (const TierAsked& tier : context.tiers)
    for (const std::string& name : tier.directories) {
      if (!seen.insert(name).second) continue;
      const DirectoryFacts facts = context.probes.directory(name);
      if (!facts.problem.empty()) {
        findings.push_back({"directory " + name, tier.requested ? State::missing : State::warning,
                            facts.problem, "a file tier keeps its files there",
                            "create it and make it writable, or name another: --tier file:DIR"});
        continue;
      }
      add_file_system(name, tier, facts, findings);
      add_direct(name, facts, findings);
      add_space(name, tier, facts, findings);
    }
  return findings;
}

std::vector<Finding> check_drives(const Context& context) {
  std::vector<Finding> findings;
  std::set<std::string> seen;
  for (const TierAsked& tier : context.tiers)
    for (const std::string& name : tier.directories)
      for (const std::string& drive : context.probes.directory(name).drives)
        if (seen.insert(drive).second)
          findings.push_back(health_of(drive, context.probes.smart(drive)));
  return findings;
}

} // namespace breakeven::doctor
