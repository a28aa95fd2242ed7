#include "model/config.hpp"

#include "support/error.hpp"
#include "support/text.hpp"

namespace breakeven::model {

using nlohmann::json;

Config::Config(const json& object, std::string where, std::string prefix)
    : m_object(&object), m_where(std::move(where)), m_prefix(std::move(prefix)) {
  if (!object.is_object())
    refuse(m_prefix.empty() ? "is not a JSON object" : "'" + m_prefix + "' is not a JSON object");
}

void Config::refuse(const std::string& what) const {
  throw error(error_kind::bad_input, printable(m_where) + ": " + what);
}

void Config::refuse_missing(std::string_view keys) const {
  const std::vector<std::string> names = split(keys, '|');
  std::string message = "'" + m_prefix + names.front() + "' is missing";
  for (std::size_t i = 1; i < names.size(); ++i)
    message += std::string(i == 1 ? " (also looked for " : ", ") + names[i];
  refuse(message + (names.size() > 1 ? ")" : "") + ", and nothing else in the file determines it");
}

Config::Found Config::lookup(std::string_view keys) const {
  for (const std::string& key : split(keys, '|')) {
    const auto at = m_object->find(key);
    if (at != m_object->end() && !at->is_null()) return {key, &*at};
  }
  return {};
}

const json* Config::find(std::string_view keys) const {
  return lookup(keys).value;
}

bool Config::has(std::string_view keys) const {
  return find(keys) != nullptr;
}

void Config::refuse_type(const Found& found, const std::string& expected) const {
  std::string shown = found.value->is_structured() ? found.value->type_name() : found.value->dump();
  refuse("'" + m_prefix + found.key + "' must be " + expected + ", found " + printable(shown));
}

std::int64_t Config::whole(const Found& found, std::int64_t least) const {
  const std::string expected = least > 0 ? "a positive whole number" : "a whole number, 0 or more";
  if (!found.value->is_number_integer()) refuse_type(found, expected);
  constexpr std::int64_t most = std::int64_t{1} << 48; // no size of a model is near it
  if (found.value->is_number_unsigned() &&
      found.value->get<std::uint64_t>() > static_cast<std::uint64_t>(most))
    refuse_type(found, expected + " below 2^48");
  const auto value = found.value->get<std::int64_t>();
  if (value < least) refuse_type(found, expected);
  return value;
}

std::int64_t Config::count(std::string_view keys) const {
  const Found found = lookup(keys);
  if (found.value == nullptr) refuse_missing(keys);
  return whole(found, 1);
}

std::int64_t Config::count(std::string_view keys, std::int64_t definition) const {
  const Found found = lookup(keys);
  return found.value == nullptr ? definition : whole(found, 1);
}

std::int64_t Config::size(std::string_view keys, std::int64_t definition) const {
  const Found found = lookup(keys);
  return found.value == nullptr ? definition : whole(found, 0);
}

bool Config::flag(std::string_view keys, bool definition) const {
  const Found found = lookup(keys);
  if (found.value == nullptr) return definition;
  if (!found.value->is_boolean()) refuse_type(found, "true or false");
  return found.value->get<bool>();
}

double Config::real(std::string_view keys, double definition) const {
  const Found found = lookup(keys);
  if (found.value == nullptr) return definition;
  if (!found.value->is_number()) refuse_type(found, "a number");
  return found.value->get<double>();
}

std::string Config::text(std::string_view keys, const std::string& definition) const {
  const Found found = lookup(keys);
  if (found.value == nullptr) return definition;
  if (!found.value->is_string()) refuse_type(found, "a string");
  return found.value->get<std::string>();
}

std::vector<std::int64_t> Config::numbers(std::string_view keys) const {
  const Found found = lookup(keys);
  std::vector<std::int64_t> result;
  if (found.value == nullptr) return result;
  if (!found.value->is_array()) refuse_type(found, "a list of whole numbers");
  for (const json& item : *found.value) {
    if (item.is_boolean())
      result.push_back(item.get<bool>() ? 1 : 0);
    else
      result.push_back(whole({found.key, &item}, 0));
  }
  return result;
}

std::vector<std::string> Config::texts(std::string_view keys) const {
  const Found found = lookup(keys);
  std::vector<std::string> result;
  if (found.value == nullptr) return result;
  if (!found.value->is_array()) refuse_type(found, "a list of strings");
  for (const json& item : *found.value) {
    if (!item.is_string()) refuse_type({found.key, &item}, "a list of strings");
    result.push_back(item.get<std::string>());
  }
  return result;
}

std::optional<Config> Config::object(std::string_view keys) const {
  const Found found = lookup(keys);
  if (found.value == nullptr) return std::nullopt;
  if (!found.value->is_object()) refuse_type(found, "an object");
  return Config(*found.value, m_where, m_prefix + found.key + ".");
}

std::vector<Config> Config::objects(std::string_view keys) const {
  const Found found = lookup(keys);
  std::vector<Config> result;
  if (found.value == nullptr) return result;
  if (!found.value->is_array()) refuse_type(found, "a list of objects");
  std::size_t index = 0;
  for (const json& item : *found.value) {
    if (!item.is_object()) refuse_type({found.key, &item}, "a list of objects");
    result.emplace_back(item, m_where, m_prefix + found.key + "[" + std::to_string(index++) + "].");
  }
  return result;
}

} // namespace breakeven::model
