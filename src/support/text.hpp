#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace breakeven {

std::vector<std::string> split(std::string_view text, char separator);

/// The candidate nearest to `name` by edit distance, or "" when none is close: for "did you mean".
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// Control characters and invalid UTF-8 replaced, so that a name from a file cannot drive the
/// terminal.
std::string printable(std::string_view text);

} // namespace breakeven
