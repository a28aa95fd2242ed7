#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace breakeven::model {

/// What a config.json may cost at most. The largest published ones (quantisation target lists)
/// are a few hundred kilobytes.
inline constexpr std::int64_t max_json_bytes = std::int64_t{16} << 20;
inline constexpr int max_json_depth = 64;
inline constexpr std::int64_t max_json_values = 1'000'000;
inline constexpr std::size_t max_json_number_length = 64;

/// Reads a regular file of at most `limit_bytes`; the size is checked before anything is read.
/// Throws error_kind::bad_input naming the path.
std::string read_text_file(const std::string& path, std::int64_t limit_bytes);

/// Parses JSON as Python's json module writes it: the bare literals NaN, Infinity and -Infinity
/// are taken as strings, so that they do no harm in keys that nobody asks for. Throws
/// error_kind::bad_input, naming `where`, for anything else that is not JSON, for duplicate keys
/// and for the limits above.
nlohmann::json parse_json(std::string_view text, const std::string& where);

} // namespace breakeven::model
