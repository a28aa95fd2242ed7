#pragma once

#include "verify/report.hpp"

#include <string>

namespace breakeven::cli {

/// What a verification found, for a person and for a program.
std::string verify_text(const verify::Report& report, std::int64_t longest_tokens);
std::string verify_json_text(const verify::Report& report);

} // namespace breakeven::cli
