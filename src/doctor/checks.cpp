#include "doctor/checks.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <exception>

namespace breakeven::doctor {

const registry<Check>& checks() {
  static const registry<Check> table = [] {
    registry<Check> rows("check");
    rows.add("directories",
             {"tier directories, their file systems, free space", check_directories});
    rows.add("drives", {"health of the drives behind them", check_drives});
    rows.add("io_uring", {"whether asynchronous reads are allowed", check_io_uring});
    rows.add("locked memory", {"room for registered buffers", check_locked_memory});
    rows.add("gpu", {"driver, persistence, power, MIG, clocks, users", check_gpus});
    rows.add("links", {"PCIe width and speed of drives, GPUs and network", check_links});
    rows.add("numa", {"where CPUs, memory and devices are", check_numa});
    rows.add("clocks", {"CPU governor, frequency limit, boost, SMT", check_clocks});
    rows.add("control groups", {"CPU and memory limits", check_control_groups});
    rows.add("huge pages", {"transparent and reserved huge pages", check_huge_pages});
    rows.add("iommu", {"IOMMU and ACS on the way between devices", check_iommu});
    rows.add("neighbours", {"what else uses this machine now", check_neighbours});
    return rows;
  }();
  return table;
}

const char* to_string(State state) {
  switch (state) {
  case State::missing:
    return "missing";
  case State::warning:
    return "warning";
  case State::unknown:
    return "unknown";
  case State::note:
    return "note";
  case State::ok:
    return "ok";
  }
  return "";
}

std::vector<Finding> examine(const Context& context) {
  std::vector<Finding> findings;
  for (const auto& [name, check] : checks().rows()) {
    try {
      for (Finding& finding : check.run(context))
        findings.push_back(std::move(finding));
    } catch (const std::exception& failure) {
      findings.push_back({name, State::unknown, failure.what(), "the check could not be made", ""});
    }
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.state < b.state; });
  return findings;
}

bool anything_missing(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.state == State::missing; });
}

std::string status_value(const Context& context, const std::string& key) {
  const std::string text = context.files.text("/proc/self/status").value_or("");
  for (const std::string& row : split(text, '\n'))
    if (row.compare(0, key.size() + 1, key + ":") == 0)
      return std::string(node::trimmed(std::string_view(row).substr(key.size() + 1)));
  return "";
}

bool capable(const Context& context, unsigned bit) {
  const std::string mask = status_value(context, "CapEff");
  std::uint64_t bits = 0;
  std::from_chars(mask.data(), mask.data() + mask.size(), bits, 16);
  return (bits >> bit & 1U) != 0;
}

std::vector<int> numbers_of(const std::string& list) {
  std::vector<int> numbers;
  for (const std::string& part : split(list, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = node::parse_number(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : node::parse_number(part.substr(dash + 1));
    constexpr std::uint64_t sane = 1U << 16;
    if (!first || !last || *last >= sane) continue;
    for (std::uint64_t i = *first; i <= *last; ++i)
      numbers.push_back(static_cast<int>(i));
  }
  return numbers;
}

} // namespace breakeven::doctor
