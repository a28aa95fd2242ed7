#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace breakeven::predict {

/// Name and JSON text of each file in profiles/hardware/, compiled into the program.
const std::vector<std::pair<std::string_view, std::string_view>>& bundled_hardware();

} // namespace breakeven::predict
