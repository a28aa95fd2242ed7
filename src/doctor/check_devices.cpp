#include "doctor/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

/// Devices on PCIe: how wide their links are, on which NUMA node they sit, what stands in between.
namespace breakeven::doctor {
namespace {

const std::string pci_folder = "/sys/bus/pci/devices";

struct PciDevice {
  std::string address, kind;
};

/// Drives, GPUs, accelerators and network cards, by the class codes of the PCI code assignment.
std::vector<PciDevice> devices_of(const Context& context) {
  std::vector<PciDevice> devices;
  for (const std::string& address : context.files.names(pci_folder)) {
    const std::string type = context.files.line(pci_folder + "/" + address + "/class");
    const char* kind = type.starts_with("0x0108")                                 ? "NVMe drive"
                       : type.starts_with("0x0302") || type.starts_with("0x0300") ? "GPU"
                       : type.starts_with("0x12")                                 ? "accelerator"
                       : type.starts_with("0x02")                                 ? "network card"
                                                                                  : nullptr;
    if (kind != nullptr) devices.push_back({address, kind});
  }
  return devices;
}

/// "16.0 GT/s PCIe" -> 16.
double speed_of(const std::string& text) {
  return std::atof(text.c_str());
}

void add_link(const Context& context, const PciDevice& device, std::vector<Finding>& findings) {
  const std::string folder = pci_folder + "/" + device.address;
  const std::string speed = context.files.line(folder + "/current_link_speed");
  const std::string most_speed = context.files.line(folder + "/max_link_speed");
  const auto width = context.files.number(folder + "/current_link_width").value_or(0);
  const auto most_width = context.files.number(folder + "/max_link_width").value_or(0);
  // Virtual devices say 0 or "Unknown": they have no link.
  if (width == 0 || most_width == 0 || speed_of(speed) <= 0) return;
  Finding finding{fmt::format("link of {} {}", device.kind, device.address), State::ok,
                  fmt::format("{} x{}", speed, width), "loads cannot be faster than the link", ""};
  if (width < most_width) {
    finding.state = State::warning;
    finding.found += fmt::format(", of x{}", most_width);
    finding.fix =
        "a narrower slot, a riser or a bad contact: move or reseat it, and see the board's "
        "manual for lanes that slots share";
  } else if (speed_of(speed) < speed_of(most_speed)) {
    // GPUs and some drives slow an idle link down to save power.
    finding.state = State::note;
    finding.found += fmt::format(", of {}", most_speed);
    finding.fix = "look again under load; when it stays slow: an older slot, or a limit in the "
                  "firmware set-up";
  }
  findings.push_back(std::move(finding));
}

/// -1 = not known.
int node_of(const Context& context, const std::string& address) {
  const std::string text = context.files.line(pci_folder + "/" + address + "/numa_node");
  const auto node = node::parse_number(text);
  return node ? static_cast<int>(std::min<std::uint64_t>(*node, 1U << 16)) : -1;
}

/// NUMA nodes that have one of the CPUs.
std::set<int> nodes_of(const Context& context, const std::vector<int>& cpus) {
  std::set<int> nodes;
  const std::string folder = "/sys/devices/system/node";
  for (const std::string& name : context.files.names(folder)) {
    if (name.compare(0, 4, "node") != 0) continue;
    const auto number = node::parse_number(name.substr(4));
    if (!number) continue;
    for (const int cpu : numbers_of(context.files.line(folder + "/" + name + "/cpulist")))
      if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end())
        nodes.insert(static_cast<int>(*number));
  }
  return nodes;
}

void add_remote_devices(const Context& context, const std::set<int>& nodes,
                        std::vector<Finding>& findings) {
  for (const PciDevice& device : devices_of(context)) {
    const int node = node_of(context, device.address);
    if (node < 0 || nodes.empty() || nodes.count(node) > 0) continue;
    findings.push_back(
        {fmt::format("NUMA node of {} {}", device.kind, device.address), State::warning,
         fmt::format("node {}, where none of the CPUs in use is", node),
         "each byte crosses the link between sockets",
         fmt::format("numactl --cpunodebind={} --membind={} breakeven ...", node, node)});
  }
}

/// PCI Express base specification, extended capability 0Dh: offset of its control register, or 0.
std::size_t acs_control(const std::string& config) {
  constexpr std::size_t first = 0x100, whole = 0x1000;
  constexpr unsigned acs = 0x0d;
  const auto word = [&](std::size_t at) {
    return static_cast<unsigned>(static_cast<unsigned char>(config[at])) |
           static_cast<unsigned>(static_cast<unsigned char>(config[at + 1])) << 8U;
  };
  std::size_t at = first;
  for (int hops = 0; hops < 64 && at >= first && at + 8 <= config.size() && at < whole; ++hops) {
    if (word(at) == acs) return at + 6;
    at = word(at + 2) >> 4U;
  }
  return 0;
}

Finding acs_finding(const Context& context) {
  Finding finding{
      "ACS", State::ok, "no bridge redirects traffic between devices",
      "with request redirect on, a transfer between drive and GPU takes the way through "
      "the root complex (GPUDirect Storage and peer copies)",
      ""};
  int bridges = 0, readable = 0, redirecting = 0;
  for (const std::string& address : context.files.names(pci_folder)) {
    if (!context.files.line(pci_folder + "/" + address + "/class").starts_with("0x0604")) continue;
    ++bridges;
    const std::string config =
        context.files.text(pci_folder + "/" + address + "/config").value_or("");
    if (config.size() < 0x104) continue; // without root the kernel shows 64 bytes
    ++readable;
    constexpr unsigned request_redirect = 1U << 2U, completion_redirect = 1U << 3U;
    const std::size_t control = acs_control(config);
    if (control != 0 && (static_cast<unsigned char>(config[control]) &
                         (request_redirect | completion_redirect)) != 0)
      ++redirecting;
  }
  if (bridges == 0) finding.found = "there is no PCIe bridge here";
  if (bridges > 0 && readable == 0) {
    finding.state = State::unknown;
    finding.found = "the bridges' settings are not readable";
    finding.fix = "as root: lspci -vvv | grep ACSCtl";
  }
  if (redirecting > 0) {
    finding.state = State::note;
    finding.found =
        fmt::format("{} of {} bridges redirect traffic between devices", redirecting, bridges);
    finding.fix =
        "turn ACS off in the firmware set-up, unless virtual machines share these devices";
  }
  return finding;
}

} // namespace

std::vector<Finding> check_links(const Context& context) {
  std::vector<Finding> findings;
  for (const PciDevice& device : devices_of(context))
    add_link(context, device, findings);
  if (findings.empty())
    findings.push_back({"PCIe links", State::unknown,
                        context.node.hypervisor.empty()
                            ? "no drive, GPU or network card shows a PCIe link"
                            : "the hypervisor (" + context.node.hypervisor + ") does not show them",
                        "loads cannot be faster than the link",
                        "on the host: lspci -vv | grep LnkSta"});
  return findings;
}

std::vector<Finding> check_numa(const Context& context) {
  Finding finding{"NUMA", State::ok, "one node",
                  "memory of another node is read slower, and through a link that others share",
                  ""};
  if (context.node.numa_nodes <= 1) return {finding};
  const std::set<int> nodes =
      nodes_of(context, numbers_of(status_value(context, "Cpus_allowed_list")));
  const std::vector<int> memory = numbers_of(status_value(context, "Mems_allowed_list"));
  finding.found = fmt::format("{} nodes; CPUs of {} and memory of {} may be used",
                              context.node.numa_nodes, nodes.size(), memory.size());
  if (nodes.size() > 1 || memory.size() > 1) {
    finding.state = State::warning;
    finding.fix = "bind the run as the engine is bound: numactl --cpunodebind=0 --membind=0 "
                  "breakeven ...";
  }
  std::vector<Finding> findings = {finding};
  if (context.files.line("/proc/sys/kernel/numa_balancing") == "1")
    findings.push_back({"NUMA balancing", State::note, "on",
                        "the kernel unmaps and moves pages behind a run, which makes times uneven",
                        "sysctl -w kernel.numa_balancing=0 once processes are bound"});
  add_remote_devices(context, nodes, findings);
  return findings;
}

std::vector<Finding> check_iommu(const Context& context) {
  const std::string command_line = context.files.line("/proc/cmdline");
  const bool active = !context.files.names("/sys/class/iommu").empty();
  const bool pass_through = command_line.find("iommu=pt") != std::string::npos ||
                            command_line.find("iommu.passthrough=1") != std::string::npos;
  Finding finding{"IOMMU", State::ok,
                  !active        ? "not in use"
                  : pass_through ? "on, in pass-through mode"
                                 : "on, translating",
                  "translation costs time for each buffer that a drive or a GPU reads or writes",
                  ""};
  if (active && !pass_through) {
    finding.state = State::note;
    finding.fix = "iommu=pt on the kernel's command line, unless devices must be kept apart";
  }
  return {finding, acs_finding(context)};
}

} // namespace breakeven::doctor
