#pragma once

#include "support/error.hpp"
#include "support/text.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace breakeven {

/// A table of name -> entry that keeps the order of registration. Rooms fill one in a single
/// place ("one line per plug-in"); lookups of unknown names say what exists and what is near.
template <class Entry>
class registry {
public:
  explicit registry(std::string noun) : m_noun(std::move(noun)) {}

  void add(std::string name, Entry entry) { m_rows.emplace_back(std::move(name), std::move(entry)); }
  [[nodiscard]] const std::vector<std::pair<std::string, Entry>>& rows() const { return m_rows; }

  [[nodiscard]] const Entry* find(std::string_view name) const {
    for (const auto& [key, entry] : m_rows)
      if (key == name) return &entry;
    return nullptr;
  }

  /// Throws error_kind::usage with the known names.
  [[nodiscard]] const Entry& at(std::string_view name) const {
    if (const Entry* entry = find(name)) return *entry;
    std::string message = "unknown " + m_noun + " '" + printable(name) + "'";
    if (const std::string near = nearest_name(name, names()); !near.empty())
      message += ", did you mean '" + near + "'";
    message += "; known:";
    for (const std::string& known : names()) message += " " + known;
    throw error(error_kind::usage, message);
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& row : m_rows) result.push_back(row.first);
    return result;
  }

private:
  std::string m_noun;
  std::vector<std::pair<std::string, Entry>> m_rows;
};

} // namespace breakeven
