#include "predict/import_readers.hpp"
#include "predict/import_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace breakeven::predict {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\"");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\"") - first + 1);
}

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_whole(double value, double least) {
  return value >= least && value <= static_cast<double>(most_tokens) && value == std::floor(value);
}

} // namespace

bool is_csv(std::string_view text) {
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] == '{' || text[start] == '[') return false;
  return text.find(',') != std::string_view::npos;
}

void read_csv(std::string_view text, const std::string& origin, Import& import) {
  int line_number = 0;
  bool first = true;
  for (const std::string& raw : split(text, '\n')) {
    ++line_number;
    const std::string line = trimmed(raw);
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = split(line, ',');
    const bool is_heading = first && !number(trimmed(cells[0]));
    first = false;
    if (is_heading) {
      if (cells.size() != 3 || trimmed(cells[0]) != "context" || trimmed(cells[1]) != "new" ||
          trimmed(cells[2]) != "seconds")
        refuse_import(origin, "the heading must be context,new,seconds");
      continue;
    }
    std::vector<double> values;
    for (const std::string& cell : cells)
      if (const auto value = number(trimmed(cell))) values.push_back(*value);
    if (values.size() != 3 || cells.size() != 3 || !is_whole(values[0], 0) ||
        !is_whole(values[1], 1) || !is_time(values[2]))
      refuse_import(origin,
                    fmt::format("line {} is not context,new,seconds: tokens that are in the "
                                "cache, tokens computed, and their time above 0",
                                line_number));
    import.add(static_cast<std::int64_t>(values[0]), static_cast<std::int64_t>(values[1]),
               values[2]);
  }
}

} // namespace breakeven::predict
