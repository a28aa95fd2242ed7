#include "support/text.hpp"

#include <algorithm>
#include <numeric>

namespace breakeven {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substitute, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// Length of the valid UTF-8 sequence at the start of `text`, 0 when it is not one.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t length = 0;
  if (byte(0) < 0x80) length = 1;
  if (byte(0) >= 0xC2 && byte(0) < 0xE0) length = 2;
  if (byte(0) >= 0xE0 && byte(0) < 0xF0) length = 3;
  if (byte(0) >= 0xF0 && byte(0) < 0xF5) length = 4;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (byte(0) == 0xE0 && byte(1) < 0xA0) return 0;
  if (byte(0) == 0xED && byte(1) >= 0xA0) return 0;
  if (byte(0) == 0xF0 && byte(1) < 0x90) return 0;
  if (byte(0) == 0xF4 && byte(1) >= 0x90) return 0;
  return length;
}

bool is_control(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first < 0x20 || first == 0x7F;
  // U+0080..U+009F: terminals that honour C1 controls treat these as escapes.
  return sequence.size() == 2 && first == 0xC2 && static_cast<unsigned char>(sequence[1]) < 0xA0;
}

} // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > 200) return ""; // the distance is quadratic, and nobody mistypes this much
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 200;
  std::string result;
  while (!text.empty()) {
    if (result.size() >= longest) return result + "...";
    const std::size_t length = utf8_length(text);
    if (length == 0 || is_control(text.substr(0, length))) {
      result += '?';
      text.remove_prefix(length == 0 ? 1 : length);
      continue;
    }
    result += text.substr(0, length);
    text.remove_prefix(length);
  }
  return result;
}

} // namespace breakeven
