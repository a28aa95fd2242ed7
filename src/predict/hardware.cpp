#include "predict/hardware.hpp"

#include "model/json_text.hpp"
#include "predict/bundled.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace breakeven::predict {
namespace {

using nlohmann::json;

struct Unit {
  std::string_view name;
  Dimension dimension;
  double factor;
};
constexpr Unit units[] = {
    {"GFLOP/s", Dimension::flops, 1e9},  {"TFLOP/s", Dimension::flops, 1e12},
    {"PFLOP/s", Dimension::flops, 1e15}, {"GB", Dimension::bytes, 1e9},
    {"TB", Dimension::bytes, 1e12},      {"PB", Dimension::bytes, 1e15},
    {"GiB", Dimension::bytes, 0x1p30},   {"TiB", Dimension::bytes, 0x1p40},
    {"MB/s", Dimension::rate, 1e6},      {"GB/s", Dimension::rate, 1e9},
    {"TB/s", Dimension::rate, 1e12},     {"GiB/s", Dimension::rate, 0x1p30},
};

const Unit* find_unit(const std::string& name) {
  for (const Unit& unit : units)
    if (unit.name == name) return &unit;
  return nullptr;
}

[[noreturn]] void refuse(const std::string& origin, const std::string& what) {
  throw error(error_kind::bad_input, printable(origin) + ": " + what);
}

std::string text_at(const json& object, const char* key, const std::string& origin,
                    const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string() || found->get<std::string>().empty())
    refuse(origin, fmt::format("'{}' needs '{}', a text that is not empty", printable(where), key));
  return printable(found->get<std::string>());
}

Fact parse_fact(const json& object, const FactKey& key, const std::string& origin) {
  const std::string name(key.key);
  if (!object.is_object()) refuse(origin, "fact '" + name + "' must be an object");
  const auto number = object.find("value");
  if (number == object.end() || !number->is_number())
    refuse(origin, "fact '" + name + "' needs 'value', a number");
  const double value = number->get<double>();
  const std::string unit_name = text_at(object, "unit", origin, name);
  const Unit* unit = find_unit(unit_name);
  if (unit == nullptr || unit->dimension != key.dimension)
    refuse(origin, fmt::format("fact '{}' has the unit '{}', which is none of {}", name,
                               printable(unit_name), key.meaning));
  if (!(value > 0) || !std::isfinite(value * unit->factor))
    refuse(origin, "fact '" + name + "' must be above 0");
  Fact fact;
  fact.value = value * unit->factor;
  fact.text = fmt::format("{} {}", value, unit_name);
  fact.source = text_at(object, "source", origin, name);
  fact.date = text_at(object, "date", origin, name);
  if (object.contains("note")) fact.note = text_at(object, "note", origin, name);
  return fact;
}

void parse_facts(Hardware& result, const json& facts, const std::string& origin) {
  for (const auto& item : facts.items()) {
    const std::string& name = item.key();
    const nlohmann::json& object = item.value();
    const auto& keys = fact_keys();
    const auto key =
        std::find_if(keys.begin(), keys.end(), [&](const FactKey& k) { return k.key == name; });
    if (key == keys.end()) {
      std::vector<std::string> known;
      for (const FactKey& each : keys)
        known.emplace_back(each.key);
      const std::string near = nearest_name(name, known);
      refuse(origin, "unknown fact '" + printable(name) + "'" +
                         (near.empty() ? "" : ", did you mean '" + near + "'?"));
    }
    result.facts[name] = parse_fact(object, *key, origin);
  }
}

bool is_one_of(const std::string& value, const std::vector<std::string>& options) {
  return std::find(options.begin(), options.end(), value) != options.end();
}

std::string joined(const std::vector<std::string>& words, const char* separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

[[noreturn]] void refuse_name(const std::string& name, const std::vector<std::string>& kinds) {
  std::vector<std::string> all, listed;
  for (const Hardware& each : hardware()) {
    if (!is_one_of(each.kind, kinds)) continue;
    listed.push_back(each.name);
    all.push_back(each.name);
    all.insert(all.end(), each.also.begin(), each.also.end());
  }
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
    return c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  const std::string stem = lower.substr(0, lower.find('-'));
  std::vector<std::string> near;
  const auto suggest = [&](const std::string& known) {
    if (!known.empty() && near.size() < 4 && !is_one_of(known, near)) near.push_back(known);
  };
  suggest(nearest_name(lower, listed));
  suggest(nearest_name(lower, all));
  for (const std::string& known : listed)
    if (known.substr(0, known.find('-')) == stem || known.find(lower) != std::string::npos)
      suggest(known);
  throw error(error_kind::usage,
              fmt::format("no bundled {} is called '{}'{}; known: {}. A JSON file of the same "
                          "shape as profiles/hardware/*.json may be given instead",
                          joined(kinds, " or "), printable(name),
                          near.empty() ? "" : ", did you mean " + joined(near, " or ") + "?",
                          joined(listed, " ")));
}

} // namespace

const Fact* Hardware::find(const std::string& key) const {
  const auto found = facts.find(key);
  return found == facts.end() ? nullptr : &found->second;
}

double Hardware::value(const std::string& key) const {
  const Fact* fact = find(key);
  return fact == nullptr ? 0 : fact->value;
}

const std::vector<FactKey>& fact_keys() {
  static constexpr std::string_view flops = "GFLOP/s, TFLOP/s, PFLOP/s";
  static constexpr std::string_view bytes = "GB, TB, PB (powers of 1,000), GiB, TiB";
  static constexpr std::string_view rate = "MB/s, GB/s, TB/s (powers of 1,000), GiB/s";
  static const std::vector<FactKey> keys = {
      {"fp32", Dimension::flops, flops},
      {"bf16", Dimension::flops, flops},
      {"fp8", Dimension::flops, flops},
      {"int8", Dimension::flops, flops},
      {"fp4", Dimension::flops, flops},
      {"memory", Dimension::bytes, bytes},
      {"memory_bandwidth", Dimension::rate, rate},
      {"host_link", Dimension::rate, rate},
      {"chip_link", Dimension::rate, rate},
      {"peer_link", Dimension::rate, rate},
      {"host_memory", Dimension::bytes, bytes},
      {"host_memory_bandwidth", Dimension::rate, rate},
      {"capacity", Dimension::bytes, bytes},
      {"read", Dimension::rate, rate},
      {"write", Dimension::rate, rate},
      {"endurance", Dimension::bytes, bytes},
      {"rate", Dimension::rate, rate},
  };
  return keys;
}

Hardware parse_hardware(std::string_view text, const std::string& origin) {
  const json document = model::parse_json(text, origin);
  if (!document.is_object()) refuse(origin, "must be a JSON object");
  Hardware result;
  result.name = text_at(document, "name", origin, "the file");
  result.kind = text_at(document, "kind", origin, "the file");
  result.title = text_at(document, "title", origin, "the file");
  if (!is_one_of(result.kind, {"accelerator", "cpu", "drive", "network"}))
    refuse(origin, "'kind' must be accelerator, cpu, drive or network");
  if (const auto also = document.find("also"); also != document.end()) {
    if (!also->is_array()) refuse(origin, "'also' must be a list of names");
    for (const json& each : *also) {
      if (!each.is_string()) refuse(origin, "'also' must be a list of names");
      result.also.push_back(printable(each.get<std::string>()));
    }
  }
  const auto facts = document.find("facts");
  if (facts == document.end() || !facts->is_object() || facts->empty())
    refuse(origin, "needs 'facts', an object that is not empty");
  parse_facts(result, *facts, origin);
  return result;
}

const std::vector<Hardware>& hardware() {
  static const std::vector<Hardware> all = [] {
    std::vector<Hardware> parsed;
    for (const auto& [name, text] : bundled_hardware())
      parsed.push_back(parse_hardware(text, "bundled hardware " + std::string(name)));
    return parsed;
  }();
  return all;
}

Hardware find_hardware(const std::string& name_or_path, const std::vector<std::string>& kinds) {
  for (const Hardware& each : hardware())
    if (is_one_of(each.kind, kinds) &&
        (each.name == name_or_path || is_one_of(name_or_path, each.also)))
      return each;
  std::error_code failure;
  const bool is_path = !name_or_path.empty() && name_or_path.find('\0') == std::string::npos &&
                       std::filesystem::is_regular_file(name_or_path, failure);
  if (!is_path) refuse_name(name_or_path, kinds);
  Hardware own =
      parse_hardware(model::read_text_file(name_or_path, model::max_json_bytes), name_or_path);
  if (!is_one_of(own.kind, kinds))
    refuse(name_or_path, "describes a " + own.kind + ", not " + joined(kinds, " or "));
  return own;
}

NodeSpec parse_node(const std::string& text) {
  NodeSpec node;
  std::string name = text;
  if (const auto colon = text.rfind(':'); colon != std::string::npos) {
    name = text.substr(0, colon);
    node.count = parse_count(text.substr(colon + 1), "the number of devices in --node");
    if (node.count < 1 || node.count > 1024)
      throw error(error_kind::usage, "--node '" + printable(text) +
                                         "': the number of devices must be from 1 to 1,024");
  }
  node.device = find_hardware(name, {"accelerator", "cpu"});
  return node;
}

} // namespace breakeven::predict
