#include "node/node_files.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace breakeven::node {

namespace fs = std::filesystem;

std::optional<std::string> Files::text(const std::string& path) const {
  std::ifstream file(m_root + path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return std::nullopt; // a folder, or EIO from a control file
  return content;
}

std::string Files::line(const std::string& path) const {
  const std::string content = text(path).value_or("");
  return std::string(trimmed(std::string_view(content).substr(0, content.find('\n'))));
}

std::optional<std::uint64_t> Files::number(const std::string& path) const {
  return parse_number(line(path));
}

std::vector<std::string> Files::names(const std::string& folder) const {
  std::vector<std::string> result;
  std::error_code error;
  for (fs::directory_iterator it(m_root + folder, error), end; !error && it != end;
       it.increment(error))
    result.push_back(it->path().filename().string());
  std::sort(result.begin(), result.end());
  return result;
}

bool Files::exists(const std::string& path) const {
  std::error_code error;
  return fs::exists(m_root + path, error);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  text = trimmed(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string value_of(std::string_view text, std::string_view key) {
  for (const std::string& row : split(text, '\n')) {
    std::string_view rest = row;
    if (!rest.starts_with(key)) continue;
    rest = rest.substr(key.size());
    if (!rest.empty() && rest[0] != ' ' && rest[0] != '\t' && rest[0] != ':') continue;
    rest = trimmed(rest);
    if (rest.starts_with(':')) rest = trimmed(rest.substr(1));
    return std::string(rest);
  }
  return "";
}

int count_in_list(std::string_view list) {
  std::uint64_t count = 0;
  for (const std::string& part : split(trimmed(list), ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_number(std::string_view(part).substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : parse_number(std::string_view(part).substr(dash + 1));
    if (first && last && *first <= *last && *last < (1u << 20)) count += *last - *first + 1;
  }
  return static_cast<int>(std::min<std::uint64_t>(count, 1u << 20));
}

} // namespace breakeven::node
