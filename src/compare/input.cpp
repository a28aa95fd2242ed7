#include "compare/compare.hpp"

#include "support/error.hpp"
#include "support/text.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

namespace breakeven::compare {
namespace {

/// Keeps schema.version and drops everything else while parsing: raw samples can be many.
std::string stated_version(const std::string& path) {
  using json = nlohmann::json;
  const auto keep = [](int depth, json::parse_event_t event, json& parsed) {
    return event != json::parse_event_t::key || depth != 1 || parsed == "schema";
  };
  std::ifstream stream(path, std::ios::binary);
  const json document = json::parse(stream, keep, false);
  if (!document.is_object()) return "";
  const auto schema = document.find("schema");
  return schema != document.end() && schema->is_object() ? schema->value("version", "") : "";
}

} // namespace

Input read_input(const std::string& path) {
  Input input;
  input.name = printable(path);
  input.file = profile::read_file(path);
  input.schema_version = stated_version(path);
  return input;
}

} // namespace breakeven::compare
