#include "doctor/checks.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

/// Clocks and neighbours: what makes two runs of the same work take different times.
namespace breakeven::doctor {
namespace {

const std::string cpu_folder = "/sys/devices/system/cpu";

Finding governor_of(const Context& context, const std::vector<std::string>& policies) {
  Finding finding{"CPU governor", State::ok, "",
                  "a governor that follows the load raises the clock only after work has begun: "
                  "short steps are measured slow, and differently each time",
                  ""};
  if (policies.empty()) {
    finding.state = State::unknown;
    finding.found = context.node.hypervisor.empty()
                        ? "the kernel shows no cpufreq policy"
                        : "the hypervisor (" + context.node.hypervisor + ") does not show it";
    finding.fix = context.node.hypervisor.empty() ? "load the cpufreq driver of this CPU"
                                                  : "ask the host's operator";
    return finding;
  }
  std::map<std::string, int> governors;
  std::string driver;
  for (const std::string& policy : policies) {
    const std::string folder = cpu_folder + "/cpufreq/" + policy;
    ++governors[context.files.line(folder + "/scaling_governor")];
    driver = context.files.line(folder + "/scaling_driver");
  }
  for (const auto& [name, count] : governors)
    finding.found += fmt::format("{}{} on {} of {} policies", finding.found.empty() ? "" : ", ",
                                 name, count, policies.size());
  if (!driver.empty()) finding.found += ", driver " + driver;
  const bool all_performance = governors.size() == 1 && governors.count("performance") == 1;
  if (all_performance) return finding;
  // In their active modes these drivers let the hardware choose; "powersave" is then no fixed
  // clock.
  const bool hardware = driver == "intel_pstate" || driver == "amd-pstate-epp";
  finding.state = hardware ? State::note : State::warning;
  finding.fix = "cpupower frequency-set -g performance";
  return finding;
}

void add_frequency_limit(const Context& context, const std::vector<std::string>& policies,
                         std::vector<Finding>& findings) {
  for (const std::string& policy : policies) {
    const std::string folder = cpu_folder + "/cpufreq/" + policy;
    const auto allowed = context.files.number(folder + "/scaling_max_freq");
    const auto possible = context.files.number(folder + "/cpuinfo_max_freq");
    if (!allowed || !possible || *allowed >= *possible) continue;
    findings.push_back(
        {"CPU frequency limit", State::warning,
         fmt::format("{}: {:.2f} GHz of {:.2f} GHz", policy, static_cast<double>(*allowed) / 1e6,
                     static_cast<double>(*possible) / 1e6),
         "steps take longer than this CPU needs for them",
         fmt::format("cpupower frequency-set -u {}kHz", *possible)});
    return; // one says it
  }
}

void add_boost(const Context& context, std::vector<Finding>& findings) {
  const std::string boost = context.files.line(cpu_folder + "/cpufreq/boost");
  const std::string no_turbo = context.files.line(cpu_folder + "/intel_pstate/no_turbo");
  if (boost.empty() && no_turbo.empty()) return;
  const bool on = boost.empty() ? no_turbo == "0" : boost == "1";
  findings.push_back(
      {"CPU boost", State::note, on ? "on" : "off",
       on ? "clocks fall as the chip warms up and as more cores work: first runs are "
            "faster than sustained ones"
          : "times are steady, and longer than with boost",
       "serve and calibrate with the same setting"});
}

void add_smt(const Context& context, std::vector<Finding>& findings) {
  const std::string active = context.files.line(cpu_folder + "/smt/active");
  if (active.empty()) return;
  findings.push_back(
      {"SMT", active == "1" ? State::note : State::ok, active == "1" ? "on" : "off",
       "two threads of one core share its vector units: neighbours on the sibling slow a step down",
       active == "1" ? "pin the engine to one thread of each core, or keep siblings idle" : ""});
}

} // namespace

std::vector<Finding> check_clocks(const Context& context) {
  std::vector<std::string> policies;
  for (const std::string& name : context.files.names(cpu_folder + "/cpufreq"))
    if (name.compare(0, 6, "policy") == 0) policies.push_back(name);
  std::vector<Finding> findings = {governor_of(context, policies)};
  add_frequency_limit(context, policies, findings);
  add_boost(context, findings);
  add_smt(context, findings);
  return findings;
}

std::vector<Finding> check_neighbours(const Context& context) {
  Finding finding{"other processes", State::ok, "nothing else uses a tenth of a CPU or more",
                  "what others take of CPUs, memory and drives is missing in the measurement", ""};
  constexpr std::size_t most_named = 3;
  double cpus = 0;
  std::string names;
  const std::vector<BusyProcess> busy = context.probes.busy();
  for (std::size_t i = 0; i < busy.size(); ++i) {
    cpus += busy[i].cpus;
    if (i < most_named)
      names += fmt::format("{}{} ({}, {:.0f} %)", names.empty() ? "" : ", ", busy[i].name,
                           busy[i].pid, 100 * busy[i].cpus);
  }
  if (!busy.empty()) {
    finding.state = cpus > 0.05 * context.node.usable_cpus ? State::warning : State::note;
    finding.found =
        fmt::format("{:.1f} of {} CPUs are busy: {}", cpus, context.node.usable_cpus, names);
    finding.fix = "stop them, or give breakeven CPUs of its own (taskset, cpuset)";
  }
  std::vector<Finding> findings = {finding};
  const double load = std::atof(context.files.line("/proc/loadavg").c_str());
  if (busy.empty() && load > 0.5 * context.node.logical_cpus)
    findings.push_back(
        {"load average", State::note,
         fmt::format("{:.1f} over the last minute, on {} CPUs", load, context.node.logical_cpus),
         "the machine was busy a moment ago, or processes wait for drives",
         "wait a minute and look again"});
  return findings;
}

} // namespace breakeven::doctor
