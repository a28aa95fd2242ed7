#include "doctor/checks.hpp"

#include "node/nvml.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

/// What NVIDIA's driver says of its GPUs.
namespace breakeven::doctor {
namespace {

class GpuRows {
public:
  GpuRows(std::string name, const GpuFacts& gpu, int index)
      : m_name(std::move(name)), m_gpu(gpu), m_index(index) {}

  std::vector<Finding> all() {
    persistence();
    power();
    mig();
    link();
    throttling();
    users();
    return std::move(m_rows);
  }

private:
  void add(const char* what, State state, const std::string& found, const char* why,
           const std::string& fix) {
    m_rows.push_back(
        {fmt::format("{} of {}", what, m_name), state, found, why, state == State::ok ? "" : fix});
  }
  [[nodiscard]] std::string smi(const char* arguments) const {
    return fmt::format("nvidia-smi -i {} {}", m_index, arguments);
  }

  void persistence() {
    if (!m_gpu.persistence) return;
    add("persistence", *m_gpu.persistence ? State::ok : State::warning,
        *m_gpu.persistence ? "on" : "off",
        "without it the driver sets the GPU up anew for the first process: seconds that a first "
        "load or step seems to take",
        smi("-pm 1, or run nvidia-persistenced"));
  }

  void power() {
    if (!m_gpu.power_limit_mW || !m_gpu.power_default_mW) return;
    const unsigned limit = *m_gpu.power_limit_mW, usual = *m_gpu.power_default_mW;
    const std::string text = fmt::format("{} W, default {} W", limit / 1000, usual / 1000);
    add("power limit", limit < usual ? State::warning : State::ok, text,
        "a lower cap lowers clocks under load: prefill is slower than this GPU can be",
        smi(fmt::format("-pl {}", usual / 1000).c_str()));
  }

  void mig() {
    if (!m_gpu.mig) return;
    add("MIG", *m_gpu.mig ? State::note : State::ok, *m_gpu.mig ? "on" : "off",
        "a slice has a part of the units and of the memory bandwidth: a file made in it holds for "
        "that slice",
        "calibrate in the slice that serves");
  }

  void link() {
    if (!m_gpu.link_width || !m_gpu.link_width_max || !m_gpu.link_generation ||
        !m_gpu.link_generation_max)
      return;
    const bool narrow = *m_gpu.link_width < *m_gpu.link_width_max;
    const bool slow = *m_gpu.link_generation < *m_gpu.link_generation_max;
    add("PCIe link",
        narrow ? State::warning
        : slow ? State::note
               : State::ok,
        fmt::format("generation {} x{}, of generation {} x{}", *m_gpu.link_generation,
                    *m_gpu.link_width, *m_gpu.link_generation_max, *m_gpu.link_width_max),
        "loads cannot be faster than the link",
        narrow ? "reseat it or use a full slot"
               : "idle GPUs slow their link down: look again under load");
  }

  void throttling() {
    if (!m_gpu.throttle_reasons) return;
    namespace reasons = node::clock_reasons;
    const std::uint64_t bits = *m_gpu.throttle_reasons;
    std::string found;
    const auto name = [&](std::uint64_t bit, const char* what) {
      if ((bits & bit) != 0) found += (found.empty() ? "" : ", ") + std::string(what);
    };
    name(reasons::power_cap, "at its power limit");
    name(reasons::hardware_slowdown, "slowed down by the hardware");
    name(reasons::software_thermal, "slowed down by the driver for its temperature");
    name(reasons::hardware_thermal, "slowed down by the hardware for its temperature");
    name(reasons::power_brake, "braked by the power supply");
    std::string clocks;
    if (m_gpu.sm_clock_MHz && m_gpu.sm_clock_max_MHz)
      clocks = fmt::format("; {} of {} MHz", *m_gpu.sm_clock_MHz, *m_gpu.sm_clock_max_MHz);
    add("clocks", found.empty() ? State::ok : State::warning,
        (found.empty() ? "not held back" : found) + clocks,
        "a GPU that is held back computes slower than it will another day",
        "let it cool, check power and air; lock clocks for comparisons: " + smi("-lgc MIN,MAX"));
  }

  void users() {
    const unsigned busy = m_gpu.busy_percent.value_or(0), processes = m_gpu.processes.value_or(0);
    if (!m_gpu.busy_percent && !m_gpu.processes) return;
    const auto used = static_cast<double>(m_gpu.memory_used_bytes.value_or(0));
    const std::string found = fmt::format("{} processes, {} % busy, {} of its memory used",
                                          processes, busy, format_bytes(used));
    add("users", busy > 5 || processes > 0 ? State::warning : State::ok, found,
        "what others take of the GPU is missing in the measurement", "stop them, or wait");
  }

  std::string m_name;
  const GpuFacts& m_gpu;
  int m_index;
  std::vector<Finding> m_rows;
};

/// PCI vendor 10de among the node's GPUs.
bool has_nvidia_gpu(const Context& context) {
  return std::any_of(context.node.gpus.begin(), context.node.gpus.end(),
                     [](const std::string& id) { return id.find("10de") != std::string::npos; });
}

Finding no_driver(const Context& context, const std::string& reason, bool asked) {
  Finding finding{"NVIDIA driver", State::note, reason, "prefill and loads are measured on the CPU",
                  "none needed, unless this machine has an NVIDIA GPU"};
  if (!asked && !has_nvidia_gpu(context)) return finding;
  finding.state = asked ? State::missing : State::warning;
  finding.why = asked ? "the device asked for needs it"
                      : "there is an NVIDIA GPU, which cannot be used without it";
  finding.fix =
      "install the driver (nvidia-smi must work); in a container, start it with --gpus all";
  return finding;
}

} // namespace

std::vector<Finding> check_gpus(const Context& context) {
  if (context.device.starts_with("cpu")) return {};
  const bool asked = context.device.starts_with("cuda");
  const GpuReport report = context.probes.gpus();
  if (!report.reason.empty()) return {no_driver(context, report.reason, asked)};
  std::vector<Finding> findings = {
      {"NVIDIA driver", State::ok, report.driver, "GPUs are measured through it", ""}};
  int only = -1;
  if (const std::size_t colon = context.device.find(':'); asked && colon != std::string::npos)
    std::from_chars(context.device.data() + colon + 1,
                    context.device.data() + context.device.size(), only);
  if (only >= static_cast<int>(report.gpus.size()))
    findings.push_back({context.device, State::missing,
                        fmt::format("the driver shows {} GPUs", report.gpus.size()),
                        "it is the device asked for", "name another: --device cuda:0"});
  for (std::size_t i = 0; i < report.gpus.size(); ++i) {
    const int index = static_cast<int>(i);
    if (only >= 0 && index != only) continue;
    const std::string name = fmt::format("cuda:{} {}", index, report.gpus[i].name);
    for (Finding& row : GpuRows(name, report.gpus[i], index).all())
      findings.push_back(std::move(row));
  }
  return findings;
}

} // namespace breakeven::doctor
