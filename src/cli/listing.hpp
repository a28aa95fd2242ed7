#pragma once

#include <string>

namespace breakeven::cli {

/// Every device back end, tier kind with its keys, and bundled model; unavailable ones with a
/// reason.
std::string listing_text();
std::string listing_json();

} // namespace breakeven::cli
