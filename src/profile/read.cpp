#include "profile/fields.hpp"

#include "support/error.hpp"
#include "support/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

namespace breakeven::profile {
namespace {

using json = nlohmann::json;

/// Where a reader stands: used for messages, and for whether unknown keys are errors.
struct Context {
  const std::string& origin;
  bool newer_minor = false; ///< written by a newer minor version: keys we do not know are fine
};

[[noreturn]] void reject(const Context& context, const std::string& path, const std::string& what) {
  throw error(error_kind::bad_input,
              fmt::format("{}: key '{}' {}", context.origin, printable(path), what));
}

class Reader {
public:
  Reader(const Context& context, const json& object, std::string path)
      : m_context(context), m_object(object), m_path(std::move(path)) {
    if (!object.is_object()) reject(m_context, m_path, "must be an object");
  }

  template <class T>
  void operator()(const char* key, T& member, Rule rule) {
    m_known.insert(key);
    const auto found = m_object.find(key);
    if (found == m_object.end()) reject(m_context, join(key), "is missing");
    read(*found, member, rule, join(key));
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& member, Rule rule) {
    m_known.insert(key);
    const auto found = m_object.find(key);
    if (found != m_object.end()) read(*found, member.emplace(), rule, join(key));
  }

  void refuse_unknown_keys(const std::set<std::string>& extra = {}) const {
    if (m_context.newer_minor) return;
    for (const auto& [key, ignored] : m_object.items())
      if (!m_known.contains(key) && !extra.contains(key))
        reject(m_context, join(key), "is not part of schema " + std::string(schema_version));
  }

private:
  std::string join(const std::string& key) const {
    return m_path.empty() ? key : fmt::format("{}.{}", m_path, key);
  }

  template <class Number>
  void check(Number number, Rule rule, const std::string& path) {
    if (rule == Rule::positive && !(number > 0)) reject(m_context, path, "must be above 0");
    if (rule == Rule::non_negative && !(number >= 0))
      reject(m_context, path, "must not be negative");
  }
  void read(const json& value, double& member, Rule rule, const std::string& path) {
    if (!value.is_number()) reject(m_context, path, "must be a number");
    member = value.get<double>();
    if (!std::isfinite(member)) reject(m_context, path, "must be a finite number");
    check(member, rule, path);
  }
  void read(const json& value, std::int64_t& member, Rule rule, const std::string& path) {
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX))
      reject(m_context, path, "must be a 64-bit integer");
    member = value.get<std::int64_t>();
    check(member, rule, path);
  }
  void read(const json& value, bool& member, Rule, const std::string& path) {
    if (!value.is_boolean()) reject(m_context, path, "must be true or false");
    member = value.get<bool>();
  }
  void read(const json& value, std::string& member, Rule, const std::string& path) {
    if (!value.is_string()) reject(m_context, path, "must be a string");
    member = value.get<std::string>();
  }
  void read(const json& value, Verdict& member, Rule, const std::string& path) {
    std::string text;
    read(value, text, Rule::any, path);
    for (const Verdict verdict : {Verdict::at, Verdict::always, Verdict::never,
                                  Verdict::inconclusive, Verdict::uncalibrated})
      if (text == to_string(verdict)) {
        member = verdict;
        return;
      }
    reject(m_context, path, "has the unknown value '" + printable(text) + "'");
  }
  void read(const json& value, std::map<std::string, std::string>& member, Rule,
            const std::string& path) {
    if (!value.is_object()) reject(m_context, path, "must be an object");
    for (const auto& [key, item] : value.items())
      read(item, member[key], Rule::any, fmt::format("{}.{}", path, key));
  }
  template <class T>
  void read(const json& value, std::vector<T>& member, Rule rule, const std::string& path) {
    if (!value.is_array()) reject(m_context, path, "must be an array");
    member.resize(value.size());
    for (std::size_t i = 0; i < value.size(); ++i)
      read(value[i], member[i], rule, fmt::format("{}[{}]", path, i));
  }
  template <class T>
  void read(const json& value, T& member, Rule, const std::string& path) {
    Reader nested(m_context, value, path);
    fields(nested, member);
    nested.refuse_unknown_keys();
  }

  const Context& m_context;
  const json& m_object;
  std::string m_path;
  std::set<std::string> m_known;
};

/// Reads "1.2.3" and refuses everything but our own major version.
void check_schema(const json& document, Context& context) {
  const auto schema = document.find("schema");
  if (schema == document.end() || !schema->is_object()) reject(context, "schema", "is missing");
  const auto text_of = [&](const char* key) {
    const auto found = schema->find(key);
    if (found == schema->end() || !found->is_string())
      reject(context, std::string("schema.") + key, "must be a string");
    return found->get<std::string>();
  };
  if (const std::string name = text_of("name"); name != schema_name)
    reject(context, "schema.name",
           fmt::format("is '{}', so this is not a break-even file", printable(name)));
  const std::string version = text_of("version");
  const std::vector<std::string> parts = split(version, '.');
  int numbers[3] = {};
  bool valid = parts.size() == 3;
  for (std::size_t i = 0; valid && i < 3; ++i) {
    valid = !parts[i].empty() && parts[i].size() < 6 &&
            parts[i].find_first_not_of("0123456789") == std::string::npos;
    if (valid) numbers[i] = std::stoi(parts[i]);
  }
  if (!valid)
    reject(context, "schema.version", fmt::format("'{}' is not MAJOR.MINOR.PATCH", printable(version)));
  if (numbers[0] != schema_major)
    reject(
        context, "schema.version",
        fmt::format("is {}, and this program reads version {}.x: use a breakeven that matches, or "
                    "calibrate again",
                    version, schema_major));
  context.newer_minor = numbers[1] > schema_minor;
}

} // namespace

BreakEvenFile from_json_text(const std::string& text, const std::string& origin) {
  Context context{origin};
  json document;
  try {
    document = json::parse(text);
  } catch (const json::exception& failure) {
    // The parser's own text quotes raw input bytes.
    throw error(error_kind::bad_input, fmt::format("{} is not valid JSON, truncated or damaged: {}",
                                                   origin, printable(failure.what())));
  }
  if (!document.is_object())
    throw error(error_kind::bad_input,
                origin + " is not a break-even file: its top level is no object");
  check_schema(document, context);
  BreakEvenFile file;
  Reader reader(context, document, "");
  fields(reader, file);
  reader.refuse_unknown_keys({"schema"});
  validate(file, origin);
  return file;
}

} // namespace breakeven::profile
