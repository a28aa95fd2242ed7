#include "profile/fields.hpp"

#include "support/error.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace breakeven::profile {
namespace {

using json = nlohmann::ordered_json;

class Writer {
public:
  template <class T>
  void operator()(const char* key, T& member, Rule) {
    m_path.push_back(key);
    write(key, member);
    m_path.pop_back();
  }
  json take() { return std::move(m_object); }

private:
  template <class T>
  void write(const char* key, T& member) {
    m_object[key] = value(member);
  }
  template <class T>
  void write(const char* key, std::optional<T>& member) {
    if (member) m_object[key] = value(*member);
  }

  json value(double number) {
    if (!std::isfinite(number))
      throw error(error_kind::measurement,
                  "refusing to write a break-even file: " + path() + " is not a finite number");
    return number;
  }
  json value(std::int64_t number) { return number; }
  json value(bool flag) { return flag; }
  json value(std::string& text) { return text; }
  json value(Verdict verdict) { return to_string(verdict); }
  json value(std::map<std::string, std::string>& map) {
    json object = json::object();
    for (const auto& [key, text] : map)
      object[key] = text;
    return object;
  }
  template <class T>
  json value(std::vector<T>& items) {
    json array = json::array();
    for (T& item : items)
      array.push_back(value(item));
    return array;
  }
  template <class T>
  json value(T& object) {
    Writer nested;
    nested.m_path = m_path;
    fields(nested, object);
    return nested.take();
  }

  std::string path() const {
    std::string joined;
    for (const char* part : m_path)
      joined += (joined.empty() ? "" : ".") + std::string(part);
    return joined;
  }

  json m_object = json::object();
  std::vector<const char*> m_path;
};

} // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
  case Verdict::at:
    return "at";
  case Verdict::always:
    return "always";
  case Verdict::never:
    return "never";
  case Verdict::inconclusive:
    return "inconclusive";
  case Verdict::uncalibrated:
    return "uncalibrated";
  }
  return "uncalibrated";
}

std::string to_json_text(const BreakEvenFile& file) {
  BreakEvenFile copy = file; // fields() serves the reader too, so it takes members by reference
  Writer writer;
  fields(writer, copy);
  json document = json::object();
  document["schema"] = {{"name", schema_name}, {"version", schema_version}};
  document.update(writer.take());
  // Strings from config files and drives may hold bytes that are not UTF-8.
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace breakeven::profile
