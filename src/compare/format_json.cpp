#include "compare/formats.hpp"

#include <nlohmann/json.hpp>

namespace breakeven::compare {
namespace {

using json = nlohmann::ordered_json;

const char* unit_name(Unit unit) {
  return unit == Unit::seconds ? "s" : unit == Unit::tokens ? "tokens" : "B/s";
}

json input_json(const Input& input) {
  return {{"file", input.name},
          {"schema", input.schema_version},
          {"status", input.file.status},
          {"started_utc", input.file.tool.started_utc},
          {"model", input.file.model.name},
          {"device", input.file.prefill.device_name}};
}

json side_json(const Side& side) {
  json result = json::object();
  if (side.present) result = {{"value", side.value}, {"lo", side.lo}, {"hi", side.hi}};
  if (side.present && side.hi < side.value) result["hi"] = nullptr; // no upper end
  result["samples"] = side.samples;
  if (!side.text.empty()) result["text"] = side.text;
  return result;
}

json quantity_json(const Quantity& q) {
  json result = {{"group", q.group},
                 {"name", q.name},
                 {"unit", unit_name(q.unit)},
                 {"verdict", to_string(q.verdict)},
                 {"lost", q.lost},
                 {"reason", q.reason},
                 {"base", side_json(q.base)},
                 {"new", side_json(q.next)}};
  if (!q.compared) return result;
  result["ratio"] = q.ratio;
  result["ratio_lo"] = q.ratio_lo;
  result["ratio_hi"] = q.ratio_hi > 0 ? json(q.ratio_hi) : json(nullptr);
  result["p"] = q.p;
  result["rank_p"] = q.rank_p >= 0 ? json(q.rank_p) : json(nullptr);
  result["detectable"] = q.detectable;
  return result;
}

} // namespace

std::string json_report(const Report& report) {
  const Comparison& c = report.comparison;
  json differences = json::array(), quantities = json::array();
  for (const Difference& d : c.differences)
    differences.push_back({{"what", d.what},
                           {"base", d.base},
                           {"new", d.next},
                           {"effect", d.effect},
                           {"blocking", d.blocking}});
  for (const Quantity& q : c.quantities)
    quantities.push_back(quantity_json(q));
  const json document = {
      {"base", input_json(report.base)},
      {"new", input_json(report.next)},
      {"threshold", report.options.threshold},
      {"confidence", report.options.confidence},
      {"run_to_run",
       {{"compute", report.options.run_to_run.compute}, {"load", report.options.run_to_run.load}}},
      {"comparable", c.comparable()},
      {"differences", differences},
      {"overall", to_string(c.overall)},
      {"counts",
       {{"same", c.counts.same},
        {"faster", c.counts.faster},
        {"slower", c.counts.slower},
        {"changed", c.counts.changed},
        {"inconclusive", c.counts.inconclusive},
        {"lost", c.counts.lost}}},
      {"fails", !report.failure.empty()},
      {"failure", report.failure},
      {"quantities", quantities}};
  // ASCII only: control characters beyond ASCII would reach the terminal as they are.
  std::string text = document.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
  for (std::size_t at = text.find("##["); at != std::string::npos; at = text.find("##[", at))
    text.replace(at + 1, 1, "\\u0023"); // a command of GitHub's runner, wherever it stands
  return text;
}

} // namespace breakeven::compare
