#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace breakeven::model {

/// Name and JSON text of each file in models/, compiled into the program.
const std::vector<std::pair<std::string_view, std::string_view>>& bundled_configs();

} // namespace breakeven::model
