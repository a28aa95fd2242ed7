#include "profile/schema.hpp"

#include "profile/fields.hpp"

#include <nlohmann/json.hpp>

namespace breakeven::profile {
namespace {

using json = nlohmann::ordered_json;

/// Keys whose strings come from a closed list.
json allowed_values(const std::string& type, const std::string& key) {
  if (type == "BreakEvenFile" && key == "status")
    return {"measured", "predicted", "published", "imported"};
  if (type == "Tier" && key == "status") return {"calibrated", "uncalibrated"};
  if (type == "Access" && key == "mode") return {"engine", "ideal"};
  if (type == "TierAnswer" && key == "winner") return {"load", "recompute", "tie"};
  return nullptr;
}

class Describer {
public:
  Describer(std::string type, json& definitions)
      : m_type(std::move(type)), m_definitions(definitions) {}

  template <class T>
  void operator()(const char* key, T& member, Rule rule) {
    m_properties[key] = described(member, rule);
    if (const json values = allowed_values(m_type, key); !values.is_null())
      m_properties[key]["enum"] = values;
    m_required.push_back(key);
  }
  template <class T>
  void operator()(const char* key, std::optional<T>&, Rule rule) {
    T value{};
    m_properties[key] = described(value, rule);
  }
  json take() {
    return {{"type", "object"},
            {"properties", m_properties},
            {"required", m_required},
            {"additionalProperties", false}};
  }

private:
  static json number(const char* type, Rule rule) {
    json result = {{"type", type}};
    if (rule == Rule::positive) result["exclusiveMinimum"] = 0;
    if (rule == Rule::non_negative) result["minimum"] = 0;
    return result;
  }
  json described(double&, Rule rule) { return number("number", rule); }
  json described(std::int64_t&, Rule rule) { return number("integer", rule); }
  json described(bool&, Rule) { return {{"type", "boolean"}}; }
  json described(std::string&, Rule) { return {{"type", "string"}}; }
  json described(Verdict&, Rule) {
    json values = json::array();
    for (const Verdict verdict : {Verdict::at, Verdict::always, Verdict::never,
                                  Verdict::inconclusive, Verdict::uncalibrated})
      values.push_back(to_string(verdict));
    return {{"enum", values}};
  }
  json described(std::map<std::string, std::string>&, Rule) {
    return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
  }
  template <class T>
  json described(std::vector<T>&, Rule rule) {
    T item{};
    return {{"type", "array"}, {"items", described(item, rule)}};
  }
  template <class T>
  json described(T& object, Rule) {
    const std::string name = type_name(object);
    if (!m_definitions.contains(name)) {
      m_definitions[name] = nullptr; // reserves the place: definitions keep their order of use
      Describer nested(name, m_definitions);
      fields(nested, object);
      m_definitions[name] = nested.take();
    }
    return {{"$ref", "#/$defs/" + name}};
  }

  static std::string type_name(const Measurement&) { return "Measurement"; }
  static std::string type_name(const Estimate&) { return "Estimate"; }
  static std::string type_name(const Tool&) { return "Tool"; }
  static std::string type_name(const Node&) { return "Node"; }
  static std::string type_name(const Model&) { return "Model"; }
  static std::string type_name(const WindowTerm&) { return "WindowTerm"; }
  static std::string type_name(const LayerKind&) { return "LayerKind"; }
  static std::string type_name(const Prefill&) { return "Prefill"; }
  static std::string type_name(const DenseCurve&) { return "DenseCurve"; }
  static std::string type_name(const AttentionGrid&) { return "AttentionGrid"; }
  static std::string type_name(const StepCheck&) { return "StepCheck"; }
  static std::string type_name(const Tier&) { return "Tier"; }
  static std::string type_name(const Access&) { return "Access"; }
  static std::string type_name(const PlaceRate&) { return "PlaceRate"; }
  static std::string type_name(const LayoutCost&) { return "LayoutCost"; }
  static std::string type_name(const Contention&) { return "Contention"; }
  static std::string type_name(const LoadModel&) { return "LoadModel"; }
  static std::string type_name(const PieceKnee&) { return "PieceKnee"; }
  static std::string type_name(const BandwidthPoint&) { return "BandwidthPoint"; }
  static std::string type_name(const SweepPoint&) { return "SweepPoint"; }
  static std::string type_name(const BreakEven&) { return "BreakEven"; }
  static std::string type_name(const Layout&) { return "Layout"; }
  static std::string type_name(const LengthAnswer&) { return "LengthAnswer"; }
  static std::string type_name(const TierAnswer&) { return "TierAnswer"; }
  static std::string type_name(const FrontierPoint&) { return "FrontierPoint"; }
  static std::string type_name(const Warning&) { return "Warning"; }

  std::string m_type;
  json& m_definitions;
  json m_properties = json::object();
  json m_required = json::array();
};

} // namespace

std::string json_schema_text() {
  json definitions = json::object();
  BreakEvenFile file;
  Describer top("BreakEvenFile", definitions);
  fields(top, file);
  json body = top.take();
  const std::string major = std::to_string(schema_major);
  json schema_key = {
      {"type", "object"},
      {"properties",
       {{"name", {{"const", schema_name}}},
        {"version",
         {{"type", "string"}, {"pattern", std::string("^") + major + "\\.[0-9]+\\.[0-9]+$"}}}}},
      {"required", {"name", "version"}},
      {"additionalProperties", false}};
  json properties = {{"schema", schema_key}};
  properties.update(body["properties"]);
  json required = {"schema"};
  for (const json& key : body["required"])
    required.push_back(key);
  body["properties"] = properties;
  body["required"] = required;
  json document = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                   {"title", std::string("breakeven file, schema ") + schema_version},
                   {"description", "Times in seconds, sizes in bytes, rates in bytes per second."}};
  document.update(body);
  document["$defs"] = definitions;
  return document.dump(2) + "\n";
}

} // namespace breakeven::profile
