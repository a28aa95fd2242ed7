#pragma once

#include "breakeven/types.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace breakeven {

/// A break-even file that cannot be read or trusted. The message is a sentence for a person.
class policy_file_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace detail {

/// Text from a file, fit for a terminal and of bounded length.
inline std::string printable_text(const std::string& text) {
  std::string result;
  for (const char c : text.substr(0, 64))
    result +=
        (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) ? '?' : c;
  return text.size() > 64 ? result + "..." : result;
}

/// A value in a JSON document that knows its path, and reads strictly.
class JsonReader {
public:
  JsonReader(const nlohmann::json& value, const std::string& origin, const JsonReader* parent,
             std::string key)
      : m_value(&value), m_origin(&origin), m_path(parent ? parent->m_path : ""),
        m_key(std::move(key)) {
    m_path += m_key;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw policy_file_error(
        *m_origin + ": " +
        (m_path.empty() ? "the document" : m_path.substr(m_path[0] == '.' ? 1 : 0)) + " " + what);
  }
  void refuse_if(const char* what) const {
    if (what != nullptr) refuse(what);
  }

  [[nodiscard]] JsonReader at(const char* key) const {
    if (!m_value->is_object()) refuse("must be an object");
    const auto found = m_value->find(key);
    const std::string step = std::string(".") + key;
    if (found == m_value->end())
      throw policy_file_error(*m_origin + ": " + (m_path + step).substr(1) + " is missing");
    return JsonReader(*found, *m_origin, this, step);
  }
  [[nodiscard]] bool has(const char* key) const {
    return m_value->is_object() && m_value->find(key) != m_value->end();
  }
  [[nodiscard]] JsonReader at(std::size_t index) const {
    return JsonReader((*m_value)[index], *m_origin, this, position(index));
  }
  [[nodiscard]] std::size_t size() const { return m_value->size(); }
  void require_array() const {
    if (!m_value->is_array()) refuse("must be an array");
  }
  /// An array of at least `least` and at most `most` elements.
  void require_size(int least, int most) const {
    require_array();
    const auto count = static_cast<std::int64_t>(m_value->size());
    if (count >= least && count <= most) return;
    if (least == most) refuse("must have " + std::to_string(least) + " elements");
    refuse("must have between " + std::to_string(least) + " and " + std::to_string(most) +
           " elements");
  }

  [[nodiscard]] std::string text() const {
    if (!m_value->is_string()) refuse("must be a string");
    return m_value->get<std::string>();
  }
  /// A whole number in [least, 2^53]; never a fraction, never a number in quotes.
  [[nodiscard]] std::int64_t integer(std::int64_t least) const {
    constexpr std::int64_t most = std::int64_t{1} << 53;
    if (!m_value->is_number_integer()) refuse("must be a whole number");
    if (m_value->is_number_unsigned() &&
        m_value->get<std::uint64_t>() > static_cast<std::uint64_t>(most))
      refuse("is too large");
    const auto value = m_value->get<std::int64_t>();
    if (value < least) refuse("must be at least " + std::to_string(least));
    if (value > most) refuse("is too large");
    return value;
  }
  /// A finite number in [least, most].
  [[nodiscard]] double number(double least, double most) const {
    if (!m_value->is_number()) refuse("must be a number");
    const auto value = m_value->get<double>();
    if (!std::isfinite(value) || value < least || value > most) refuse("is out of range");
    return value;
  }

private:
  static std::string position(std::size_t index) {
    std::string text = "[";
    text += std::to_string(index);
    return text += ']';
  }
  const nlohmann::json* m_value;
  const std::string* m_origin;
  std::string m_path, m_key;
};

/// A parsed document; its readers must not outlive it.
class JsonDocument {
public:
  JsonDocument(const std::string& text, const std::string& origin) : m_origin(origin) {
    try {
      m_value = nlohmann::json::parse(text);
    } catch (const nlohmann::json::exception& error) {
      throw policy_file_error(origin + ": not valid JSON: " + where(error.what()));
    }
  }
  [[nodiscard]] JsonReader root() const { return JsonReader(m_value, m_origin, nullptr, ""); }

private:
  /// The parser's own words, without its bracketed exception id.
  static std::string where(const std::string& text) {
    const std::size_t end = text.find("] ");
    return printable_text(end == std::string::npos ? text : text.substr(end + 2));
  }
  std::string m_origin;
  nlohmann::json m_value;
};

} // namespace detail
} // namespace breakeven
