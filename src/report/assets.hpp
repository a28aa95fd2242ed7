#pragma once

#include <string_view>
#include <utility>
#include <vector>

/// Internal to the room.
namespace breakeven::report {

/// Name and text of each file of the page; made at build time from assets/ and third_party/.
const std::vector<std::pair<std::string_view, std::string_view>>& bundled_assets();

} // namespace breakeven::report
