#include "report/report.hpp"

#include "report/palette.hpp"
#include "support/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace breakeven::report {
namespace {

using nlohmann::ordered_json;

/// Six digits: more cannot be seen, and the page stays small.
double rounded(double value) {
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

ordered_json axis_json(const Axis& axis) {
  ordered_json ticks = ordered_json::array();
  for (const Tick& tick : axis.ticks)
    ticks.push_back({rounded(tick.at), tick.label});
  return {{"label", axis.label},    {"unit", to_string(axis.unit)}, {"log", axis.log},
          {"lo", rounded(axis.lo)}, {"hi", rounded(axis.hi)},       {"ticks", ticks}};
}

ordered_json series_json(const Series& series) {
  ordered_json points = ordered_json::array();
  for (const Point& p : series.points) {
    ordered_json point = {rounded(p.x), rounded(p.y)};
    if (p.lo != p.hi) point.insert(point.end(), {rounded(p.lo), rounded(p.hi)});
    points.push_back(std::move(point));
  }
  return {{"name", printable(series.name)},
          {"color", palette_index(series.color)},
          {"file", series.file},
          {"secondary", series.secondary},
          {"points", points}};
}

ordered_json plot_json(const Plot& plot) {
  ordered_json series = ordered_json::array(), marks = ordered_json::array();
  for (const Series& each : plot.series)
    series.push_back(series_json(each));
  for (const Mark& mark : plot.marks)
    marks.push_back({{"name", printable(mark.name)},
                     {"color", palette_index(mark.color)},
                     {"file", mark.file},
                     {"x", mark.x},
                     {"y", rounded(mark.y)},
                     {"lo", mark.lo},
                     {"hi", mark.hi}});
  return {{"id", plot.id},          {"title", plot.title}, {"x", axis_json(plot.x)},
          {"y", axis_json(plot.y)}, {"series", series},    {"marks", marks}};
}

std::string without_markup(const std::string& json) {
  std::string result;
  result.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&')
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      result += c;
  }
  return result;
}

} // namespace

std::string data_json(const std::vector<Input>& inputs, const std::vector<Plot>& plots) {
  ordered_json data;
  data["dashes"] = ordered_json::array();
  for (const char* dash : dashes) {
    ordered_json lengths = ordered_json::array();
    for (const std::string& length : split(dash, ' '))
      if (!length.empty()) lengths.push_back(std::stoi(length));
    data["dashes"].push_back(lengths);
  }
  data["files"] = ordered_json::array();
  for (const Input& input : inputs)
    data["files"].push_back({{"label", printable(input.label)}, {"status", input.file.status}});
  data["plots"] = ordered_json::array();
  for (const Plot& plot : plots)
    if (!plot.series.empty()) data["plots"].push_back(plot_json(plot));
  return without_markup(data.dump(-1, ' ', true));
}

} // namespace breakeven::report
