#include "fleet/fleet.hpp"

#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace breakeven::fleet {
namespace {

using profile::BreakEvenFile;
using profile::Measurement;
using profile::Tier;

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t fewest_nodes = 5; ///< half of fewer say nothing about the usual spread
/// Spread below which a fleet is never: two runs on one node differ by more.
constexpr double smallest_deviation = 0.01;

std::vector<double> present(const std::vector<double>& values) {
  std::vector<double> result;
  for (const double value : values)
    if (!std::isnan(value)) result.push_back(value);
  return result;
}

/// Medians of all points of a kind as a map from point to time.
using Times = std::map<std::pair<std::int64_t, std::int64_t>, double>;

Times dense_times(const BreakEvenFile& file) {
  Times times;
  for (std::size_t i = 0; i < file.prefill.dense.new_tokens.size(); ++i)
    times[{file.prefill.dense.new_tokens[i], 0}] = file.prefill.dense.seconds[i].median_s;
  return times;
}

Times step_times(const BreakEvenFile& file) {
  Times times;
  for (const profile::StepCheck& check : file.prefill.step_checks)
    times[{check.context_tokens, check.new_tokens}] = check.measured.median_s;
  return times;
}

Times attention_times(const BreakEvenFile& file, const std::string& kind) {
  Times times;
  for (const profile::AttentionGrid& grid : file.prefill.attention)
    if (grid.layer_kind == kind)
      for (std::size_t c = 0; c < grid.context_tokens.size(); ++c)
        for (std::size_t n = 0; n < grid.new_tokens.size(); ++n)
          times[{grid.context_tokens[c], grid.new_tokens[n]}] = grid.seconds[c][n].median_s;
  return times;
}

/// Each node's time over the fleet's median, as the median over points.
std::vector<double> against_fleet(const std::vector<Times>& nodes) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<double>> by_point;
  for (const Times& times : nodes)
    for (const auto& [point, seconds] : times)
      if (seconds > 0) by_point[point].push_back(seconds);
  std::map<std::pair<std::int64_t, std::int64_t>, double> usual;
  for (const auto& [point, seconds] : by_point)
    usual[point] = measure::median(seconds);
  std::vector<double> result;
  for (const Times& times : nodes) {
    std::vector<double> ratios;
    for (const auto& [point, seconds] : times)
      if (seconds > 0) ratios.push_back(seconds / usual[point]);
    result.push_back(ratios.empty() ? none : measure::median(ratios));
  }
  return result;
}

const Tier* tier_of(const BreakEvenFile& file, const std::string& name) {
  for (const Tier& tier : file.tiers)
    if (tier.name == name) return &tier;
  return nullptr;
}

class Surveyor {
public:
  Surveyor(const Fleet& fleet, const Options& options)
      : m_fleet(fleet), m_options(options), m_reasons(fleet) {}

  Survey run() {
    m_survey.too_few = m_fleet.nodes.size() < fewest_nodes;
    prefill();
    std::set<std::string> tiers;
    for (const Node& node : m_fleet.nodes)
      for (const Tier& tier : node.file.tiers)
        if (tiers.insert(tier.name).second) m_tiers.push_back(tier.name);
    for (const std::string& name : m_tiers)
      constants(name);
    for (std::size_t q = 0; q < m_survey.quantities.size(); ++q)
      judge(q);
    for (const std::string& name : m_tiers)
      missing(name);
    std::stable_sort(m_survey.outliers.begin(), m_survey.outliers.end(),
                     [](const Outlier& a, const Outlier& b) {
                       return std::abs(a.distance) > std::abs(b.distance);
                     });
    find_median_node();
    return std::move(m_survey);
  }

private:
  void add(const std::string& group, const std::string& name, Unit unit,
           std::vector<double> values) {
    Quantity quantity;
    quantity.group = group;
    quantity.name = name;
    quantity.unit = unit;
    const std::vector<double> known = present(values);
    if (known.empty()) return;
    quantity.count = known.size();
    quantity.median = measure::median(known);
    quantity.smallest = *std::min_element(known.begin(), known.end());
    quantity.largest = *std::max_element(known.begin(), known.end());
    if (quantity.median > 0)
      quantity.deviation = 1.4826 * measure::median_absolute_deviation(known) / quantity.median;
    quantity.values = std::move(values);
    m_survey.quantities.push_back(std::move(quantity));
  }

  template <class TimesOf>
  void add_times(const std::string& name, TimesOf times_of) {
    std::vector<Times> nodes;
    for (const Node& node : m_fleet.nodes)
      nodes.push_back(times_of(node.file));
    add("prefill", name, Unit::ratio, against_fleet(nodes));
  }

  void prefill() {
    add_times("whole steps", step_times);
    add_times("dense part of a step", dense_times);
    std::set<std::string> kinds;
    for (const Node& node : m_fleet.nodes)
      for (const profile::AttentionGrid& grid : node.file.prefill.attention)
        kinds.insert(grid.layer_kind);
    for (const std::string& kind : kinds)
      add_times("attention (" + kind + ")",
                [&](const BreakEvenFile& file) { return attention_times(file, kind); });
  }

  template <class Value>
  std::vector<double> each(const std::string& tier_name, Value value) const {
    std::vector<double> values;
    for (const Node& node : m_fleet.nodes) {
      const Tier* tier = tier_of(node.file, tier_name);
      values.push_back(tier && tier->load ? value(*tier) : none);
    }
    return values;
  }

  void constants(const std::string& name) {
    const std::string group = "tier " + name;
    add(group, "fixed cost", Unit::seconds,
        each(name, [](const Tier& tier) { return tier.load->fixed_s.value; }));
    add(group, "cost per piece", Unit::seconds,
        each(name, [](const Tier& tier) { return tier.load->piece_s.value; }));
    std::set<std::int64_t> depths;
    for (const Node& node : m_fleet.nodes)
      if (const Tier* tier = tier_of(node.file, name); tier && tier->load)
        for (const profile::BandwidthPoint& point : tier->load->bandwidth)
          depths.insert(point.in_flight);
    for (const std::int64_t depth : depths)
      add(group, depth == 1 ? "bandwidth" : "bandwidth, " + std::to_string(depth) + " at once",
          Unit::bytes_per_second, each(name, [&](const Tier& tier) {
            for (const profile::BandwidthPoint& point : tier.load->bandwidth)
              if (point.in_flight == depth) return point.bandwidth_Bps.value;
            return none;
          }));
    add(group, "break-even length", Unit::tokens, each(name, [](const Tier& tier) {
          return tier.break_even.verdict == profile::Verdict::at
                     ? static_cast<double>(tier.break_even.tokens)
                     : none;
        }));
    add(group, "store rate", Unit::bytes_per_second,
        each(name, [](const Tier& tier) { return tier.store_Bps > 0 ? tier.store_Bps : none; }));
  }

  /// Spread that a quantity has between runs of one node at least, relative to its median.
  static double floor_of(const Quantity& quantity) {
    if (quantity.name == "fixed cost") return 0.05;
    if (quantity.name == "cost per piece" || quantity.unit == Unit::tokens) return 0.1;
    return smallest_deviation;
  }

  /// Robust standard deviations from the median; NaN when the node has no value.
  static double distance_of(const Quantity& quantity, double value) {
    if (quantity.median > 0)
      return (value / quantity.median - 1) / std::max(quantity.deviation, floor_of(quantity));
    return value > 0 ? std::numeric_limits<double>::quiet_NaN() : 0;
  }

  void judge(std::size_t index) {
    const Quantity& quantity = m_survey.quantities[index];
    if (m_survey.too_few || quantity.count < fewest_nodes) return;
    for (std::size_t node = 0; node < quantity.values.size(); ++node) {
      const double value = quantity.values[node], distance = distance_of(quantity, value);
      if (!(std::abs(distance) >= m_options.distance) ||
          !(std::abs(value / quantity.median - 1) > m_options.threshold))
        continue;
      m_survey.outliers.push_back(
          {node, index, value, distance, "", m_reasons.why(node, quantity.group)});
    }
  }

  /// Nodes where a tier that most nodes have is absent or could not be calibrated.
  void missing(const std::string& name) {
    const std::size_t index = static_cast<std::size_t>(
        std::find_if(m_survey.quantities.begin(), m_survey.quantities.end(),
                     [&](const Quantity& q) { return q.group == "tier " + name; }) -
        m_survey.quantities.begin());
    if (index == m_survey.quantities.size()) return; // calibrated nowhere
    if (2 * m_survey.quantities[index].count <= m_fleet.nodes.size()) return;
    for (std::size_t node = 0; node < m_fleet.nodes.size(); ++node) {
      const Tier* tier = tier_of(m_fleet.nodes[node].file, name);
      if (tier && tier->load) continue;
      Outlier outlier{node,
                      index,
                      none,
                      std::numeric_limits<double>::infinity(),
                      tier ? "uncalibrated" : "no such tier",
                      {}};
      if (tier) outlier.reasons.push_back(tier->reason);
      for (std::string& reason : m_reasons.why(node, "tier " + name))
        outlier.reasons.push_back(std::move(reason));
      m_survey.outliers.push_back(std::move(outlier));
    }
  }

  void find_median_node() {
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t node = 0; node < m_fleet.nodes.size(); ++node) {
      double sum = 0;
      for (const Quantity& quantity : m_survey.quantities) {
        const double distance = distance_of(quantity, quantity.values[node]);
        sum += std::isnan(distance) ? 10 : std::min(10.0, std::abs(distance));
      }
      if (sum >= nearest) continue;
      nearest = sum;
      m_survey.median_node = node;
    }
  }

  const Fleet& m_fleet;
  const Options& m_options;
  Reasons m_reasons;
  std::vector<std::string> m_tiers;
  Survey m_survey;
};

} // namespace

Survey survey(const Fleet& fleet, const Options& options) {
  return Surveyor(fleet, options).run();
}

} // namespace breakeven::fleet
