#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Reading of /proc, /sys and cgroup files below a root folder. Internal to the room.
namespace breakeven::node {

class Files {
public:
  explicit Files(std::string root) : m_root(std::move(root)) {}

  /// Text of the file at `path` (absolute, as on the machine), or nothing.
  [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
  /// First line, without trailing blanks; "" when there is none.
  [[nodiscard]] std::string line(const std::string& path) const;
  /// The first line as a number; nothing for "max", negative or other text.
  [[nodiscard]] std::optional<std::uint64_t> number(const std::string& path) const;
  /// Names in a folder, sorted; empty when it cannot be read.
  [[nodiscard]] std::vector<std::string> names(const std::string& folder) const;
  [[nodiscard]] bool exists(const std::string& path) const;

private:
  std::string m_root;
};

std::string_view trimmed(std::string_view text);
std::optional<std::uint64_t> parse_number(std::string_view text);
/// Text after `key`, blanks and an optional ':' on the first line that starts with it; "" if none.
std::string value_of(std::string_view text, std::string_view key);
/// CPUs in a list such as "0-3,8,10-11".
int count_in_list(std::string_view list);

} // namespace breakeven::node
