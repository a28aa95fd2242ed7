#include "compare/formats.hpp"

#include "measure/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace breakeven::compare {
namespace {

/// UTF-8 code points: names may hold more than ASCII.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

struct Line {
  std::vector<std::string> cells;
  std::string rest;
};

/// Columns as wide as their longest cell; the last part of a line is free text.
std::string aligned(const std::vector<Line>& lines) {
  std::vector<std::size_t> widths;
  for (const Line& line : lines)
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], width(line.cells[i]));
    }
  std::string text;
  for (const Line& line : lines) {
    std::string row = " ";
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      const std::string padding(widths[i] - width(line.cells[i]), ' ');
      row += (i == 0 ? line.cells[i] + padding : padding + line.cells[i]) + "  ";
    }
    row += line.rest;
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

/// Constants of a tier and lengths are few and asked for by name: they always get a line.
bool headline(const Quantity& quantity) {
  return quantity.group.starts_with("tier ") && quantity.base.text + quantity.next.text != "" ? true
         : quantity.unit != Unit::seconds
             ? true
             : quantity.name == whole_group || quantity.name == "fixed cost" ||
                   quantity.name == "cost per piece" || quantity.group == "whole steps";
}

Line line_of(const Quantity& quantity) {
  Line line;
  line.cells = {safe(quantity.name), value_text(quantity, quantity.base),
                value_text(quantity, quantity.next), change_text(quantity)};
  line.rest = fmt::format("{}{}", to_string(quantity.verdict), quantity.lost ? " (lost)" : "");
  if (const std::string interval = interval_text(quantity);
      !interval.empty() && quantity.verdict != Verdict::same)
    line.rest += fmt::format(" [{}]", interval);
  if (!quantity.reason.empty()) line.rest += ": " + safe(quantity.reason);
  return line;
}

/// The quantities of a group that are the same, in one line.
Line summary_of(const std::vector<const Quantity*>& quiet) {
  std::vector<double> ratios, detectable;
  for (const Quantity* quantity : quiet) {
    if (!quantity->compared) continue;
    ratios.push_back(quantity->ratio - 1);
    detectable.push_back(quantity->detectable);
  }
  Line line;
  const bool load = quiet.front()->group.starts_with("tier ");
  line.cells = {
      fmt::format("{} {}{}", quiet.size(), load ? "load" : "point", quiet.size() == 1 ? "" : "s"),
      "", "", ratios.empty() ? "" : fmt::format("{:+.1f} %", 100 * measure::median(ratios))};
  line.rest = "same";
  if (!detectable.empty())
    line.rest += fmt::format(" (median change; more than {:.0f} % at one of them would show)",
                             100 * measure::median(detectable));
  return line;
}

std::string groups_text(const Report& report) {
  std::vector<Line> lines;
  const std::vector<Quantity>& all = report.comparison.quantities;
  std::string text;
  std::vector<Line> heading;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    std::vector<const Quantity*> quiet;
    lines.clear();
    for (; end < all.size() && all[end].group == all[begin].group; ++end)
      if (report.all || notable(all[end]) || headline(all[end]))
        lines.push_back(line_of(all[end]));
      else
        quiet.push_back(&all[end]);
    if (!quiet.empty()) lines.push_back(summary_of(quiet));
    text += "\n" + safe(all[begin].group) + "\n" + aligned(lines);
    begin = end;
  }
  return text;
}

} // namespace

std::string text_report(const Report& report) {
  const Comparison& comparison = report.comparison;
  std::string text =
      fmt::format("BASE  {}\nNEW   {}\n", input_text(report.base), input_text(report.next));
  text += comparison.comparable() ? "comparable: yes" : "comparable: no";
  text += comparison.differences.empty() ? ", the files differ in measured values only\n"
                                         : "; these differ:\n";
  std::vector<Line> lines;
  for (const Difference& difference : comparison.differences)
    lines.push_back({{safe(difference.what)},
                     fmt::format("{} -> {}: {}", safe(difference.base), safe(difference.next),
                                 difference.effect)});
  text += aligned(lines) + groups_text(report);
  text += fmt::format("\n{}\n", overall_text(comparison));
  if (!report.failure.empty()) text += "fails: " + safe(report.failure) + "\n";
  return text;
}

} // namespace breakeven::compare
