#include "fleet/fleet.hpp"

#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace breakeven::fleet {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t most_lines = 20;

std::string value_text(Unit unit, double value) {
  if (std::isnan(value)) return "-";
  switch (unit) {
  case Unit::ratio:
    return fmt::format("{:.3f}", value);
  case Unit::seconds:
    return format_seconds(value);
  case Unit::bytes_per_second:
    return format_rate(value);
  case Unit::tokens:
    return format_tokens(std::llround(value)) + " tokens";
  }
  return "";
}

std::string quantities_text(const Survey& survey) {
  std::string text = fmt::format("\n{:<32}{:>14}{:>9}{:>14}{:>14}{:>10}\n", "", "median", "spread",
                                 "smallest", "largest", "outliers");
  std::string group;
  for (std::size_t i = 0; i < survey.quantities.size(); ++i) {
    const Quantity& q = survey.quantities[i];
    if (q.group != group) text += printable(q.group) + "\n";
    group = q.group;
    const auto outliers =
        std::count_if(survey.outliers.begin(), survey.outliers.end(),
                      [&](const Outlier& o) { return o.quantity == i && o.what.empty(); });
    text += fmt::format("  {:<30}{:>14}{:>9}{:>14}{:>14}{:>10}\n", printable(q.name),
                        q.unit == Unit::ratio ? "1" : value_text(q.unit, q.median),
                        fmt::format("{:.1f} %", 100 * q.deviation), value_text(q.unit, q.smallest),
                        value_text(q.unit, q.largest), outliers);
  }
  return text;
}

/// What one node shows of one group, in one entry.
struct Entry {
  const Outlier* worst;
  std::vector<const Outlier*> all;
};

std::vector<Entry> entries_of(const Survey& survey) {
  std::vector<Entry> entries;
  std::map<std::pair<std::size_t, std::string>, std::size_t> places;
  for (const Outlier& outlier : survey.outliers) {
    const auto [at, fresh] = places.try_emplace(
        {outlier.node, survey.quantities[outlier.quantity].group}, entries.size());
    if (fresh) entries.push_back({&outlier, {}});
    entries[at->second].all.push_back(&outlier);
  }
  return entries;
}

std::string entry_text(const Fleet& fleet, const Survey& survey, const Entry& entry) {
  std::string values, reasons;
  for (const Outlier* outlier : entry.all) {
    const Quantity& q = survey.quantities[outlier->quantity];
    values += values.empty() ? "" : ", ";
    values += outlier->what.empty()
                  ? fmt::format("{} {} ({:+.0f} %, {:.0f} deviations)", printable(q.name),
                                value_text(q.unit, outlier->value),
                                100 * (outlier->value / q.median - 1), std::abs(outlier->distance))
                  : outlier->what;
  }
  for (const std::string& reason : entry.worst->reasons)
    reasons += (reasons.empty() ? "" : "; ") + printable(reason);
  return fmt::format("  {}: {}: {}\n    {}\n", printable(fleet.nodes[entry.worst->node].name),
                     printable(survey.quantities[entry.worst->quantity].group), values,
                     reasons.empty() ? "no recorded fact differs: run `breakeven doctor` there"
                                     : "likely: " + reasons);
}

/// At most 20 of a list, and how many more there are.
template <class List, class Print>
std::string listed(const List& list, Print print) {
  std::string text;
  for (std::size_t i = 0; i < list.size() && i < most_lines; ++i)
    text += print(list[i]);
  if (list.size() > most_lines)
    text += fmt::format("  and {} more; --json has all\n", list.size() - most_lines);
  return text;
}

std::string outliers_text(const Fleet& fleet, const Survey& survey) {
  const std::vector<Entry> entries = entries_of(survey);
  std::set<std::size_t> nodes;
  for (const Entry& entry : entries)
    nodes.insert(entry.worst->node);
  return fmt::format("outliers: {} of {} nodes\n", nodes.size(), fleet.nodes.size()) +
         listed(entries, [&](const Entry& entry) { return entry_text(fleet, survey, entry); });
}

json number(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

} // namespace

std::string text_report(const Fleet& fleet, const Survey& survey) {
  const profile::BreakEvenFile& first = fleet.nodes.front().file;
  std::string text =
      fmt::format("{} nodes: {} on {}\n", fleet.nodes.size(), printable(first.model.name),
                  printable(fleet.nodes[survey.median_node].file.prefill.device_name));
  text += fmt::format("median node: {}\n", printable(fleet.nodes[survey.median_node].name));
  text += quantities_text(survey);
  text += "\nspread: robust standard deviation (MAD); prefill: times over the fleet's median\n\n";
  if (survey.too_few)
    text += "outliers: too few nodes to tell; 5 are needed\n";
  else if (survey.outliers.empty())
    text += "outliers: none\n";
  else
    text += outliers_text(fleet, survey);
  const auto named = [](const Broken& file) {
    return fmt::format("  {}: {}\n", printable(file.name), printable(file.reason));
  };
  if (!fleet.others.empty())
    text += fmt::format("of another kind, left out: {}\n", fleet.others.size()) +
            listed(fleet.others, named);
  if (!fleet.broken.empty())
    text += fmt::format("unreadable, left out: {}\n", fleet.broken.size()) +
            listed(fleet.broken, named);
  return text;
}

std::string json_report(const Fleet& fleet, const Survey& survey) {
  json quantities = json::array(), outliers = json::array();
  for (const Quantity& q : survey.quantities)
    quantities.push_back({{"group", q.group},
                          {"name", q.name},
                          {"nodes", q.count},
                          {"median", q.median},
                          {"deviation", q.deviation},
                          {"smallest", q.smallest},
                          {"largest", q.largest}});
  for (const Outlier& o : survey.outliers) {
    const Quantity& q = survey.quantities[o.quantity];
    outliers.push_back({{"node", fleet.nodes[o.node].name},
                        {"group", q.group},
                        {"name", o.what.empty() ? q.name : o.what},
                        {"value", number(o.value)},
                        {"median", q.median},
                        {"distance", number(o.distance)},
                        {"reasons", o.reasons}});
  }
  const auto named = [](const std::vector<Broken>& files) {
    json list = json::array();
    for (const Broken& file : files)
      list.push_back({{"file", file.name}, {"reason", file.reason}});
    return list;
  };
  const json document = {{"nodes", fleet.nodes.size()},
                         {"model", fleet.nodes.front().file.model.name},
                         {"median_node", fleet.nodes[survey.median_node].name},
                         {"too_few", survey.too_few},
                         {"quantities", quantities},
                         {"outliers", outliers},
                         {"others", named(fleet.others)},
                         {"broken", named(fleet.broken)}};
  return document.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
}

} // namespace breakeven::fleet
