#include "fleet/fleet.hpp"

#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::fleet {
namespace {

using profile::BreakEvenFile;

/// Keys that each calibration finds out anew.
bool found_out(const std::string& key) {
  return key.starts_with("ideal_") || key == "requests" || key == "pool";
}

/// Facts that explain slow loads or steps more often than others do.
int weight_of(const std::string& fact) {
  constexpr const char* telling[] = {"link",   "width", "pcie",        "numa",  "drive",
                                     "driver", "clock", "throttl",     "busy",  "governor",
                                     "device", "model", "file_system", "reads", "power"};
  for (const char* word : telling)
    if (fact.find(word) != std::string::npos) return 1;
  return 0;
}

constexpr double rare = 0.2; ///< a value of more nodes than that explains no outlier
constexpr std::size_t most_reasons = 3;

} // namespace

std::map<std::string, std::string> facts_of(const BreakEvenFile& file) {
  std::map<std::string, std::string> facts;
  const profile::Node& node = file.node;
  const profile::Prefill& prefill = file.prefill;
  facts["CPU model"] = node.cpu_model;
  facts["operating system"] = node.os;
  facts["kernel"] = node.kernel;
  facts["hypervisor"] = node.hypervisor;
  facts["governor"] = node.governor;
  facts["CPUs"] = std::to_string(node.logical_cpus);
  facts["usable CPUs"] = std::to_string(node.usable_cpus);
  facts["NUMA nodes"] = std::to_string(node.numa_nodes);
  facts["memory"] = fmt::format("{} GiB", (node.memory_bytes + (std::int64_t{1} << 29)) >> 30);
  facts["memory limit"] = node.memory_limit_bytes > 0
                              ? format_bytes(static_cast<double>(node.memory_limit_bytes))
                              : "none";
  for (const auto& [name, version] : node.libraries)
    facts["library " + name] = version;
  facts["device"] = prefill.device_name;
  facts["kernel source"] = prefill.kernel_source;
  facts["threads"] = std::to_string(prefill.threads);
  facts["breakeven version"] = file.tool.version;
  for (const char* code : {"busy", "throttled"})
    facts[code] = std::any_of(file.warnings.begin(), file.warnings.end(),
                              [&](const profile::Warning& w) { return w.code == code; })
                      ? "yes"
                      : "no";
  for (const profile::Tier& tier : file.tiers) {
    const std::string prefix = "tier " + tier.name + ": ";
    for (const auto& [key, value] : tier.identity)
      if (!found_out(key)) facts[prefix + key] = value;
    facts[prefix + "kind"] = tier.kind;
  }
  return facts;
}

Reasons::Reasons(const Fleet& fleet) {
  for (const Node& node : fleet.nodes) {
    m_facts.push_back(facts_of(node.file));
    for (const auto& [fact, value] : m_facts.back())
      ++m_counts[fact][value];
  }
}

std::vector<std::string> Reasons::why(std::size_t node, const std::string& group) const {
  struct Reason {
    int rank;
    double share; ///< of nodes that have the same value
    std::string text;
  };
  std::vector<Reason> found;
  const double nodes = static_cast<double>(m_facts.size());
  for (const auto& [fact, counts] : m_counts) {
    const bool of_tier = fact.starts_with("tier ");
    if (of_tier && !fact.starts_with(group + ": ")) continue;
    const auto usual =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto own = m_facts[node].find(fact);
    const std::string value = own == m_facts[node].end() ? "" : own->second;
    if (value == usual->first) continue;
    const auto same = counts.find(value);
    const double share = same == counts.end() ? 0 : static_cast<double>(same->second) / nodes;
    if (share > rare) continue;
    const auto shown = [](const std::string& text) { return text.empty() ? "unknown" : text; };
    found.push_back(
        {(of_tier ? 2 : 0) + weight_of(fact), share,
         fmt::format("{} is {}; {} on {:.0f} % of the nodes",
                     of_tier ? fact.substr(group.size() + 2) : fact, shown(value),
                     shown(usual->first), 100 * static_cast<double>(usual->second) / nodes)});
  }
  std::stable_sort(found.begin(), found.end(), [](const Reason& a, const Reason& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.share < b.share;
  });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < found.size() && i < most_reasons; ++i)
    texts.push_back(found[i].text);
  return texts;
}

} // namespace breakeven::fleet
