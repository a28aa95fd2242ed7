#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace breakeven {

/// "4096", "32k" (k = 1,024: token counts are powers of two in this field), "1m". At least 1.
/// Throws error_kind::usage naming `what`.
std::int64_t parse_tokens(std::string_view text, std::string_view what);

/// "4096", "64KiB", "4MiB", "1GiB" (powers of 1,024) and "1kB", "1MB", "1GB" (powers of 1,000).
std::int64_t parse_bytes(std::string_view text, std::string_view what);

/// "60", "60s", "1.5s", "500ms", "2m". Strictly positive and finite.
double parse_seconds(std::string_view text, std::string_view what);

/// "14GB/s", "14 GB/s" (powers of 1,000), "2GiB/s" (powers of 1,024), "400Gbit/s": in bytes per
/// second, above 0. The unit is required.
double parse_rate(std::string_view text, std::string_view what);

/// A number in [0, 1).
double parse_fraction(std::string_view text, std::string_view what);

/// A non-negative integer without suffix.
std::int64_t parse_count(std::string_view text, std::string_view what);

/// "12.3 GB/s": SI units, three significant digits. Also for bytes, seconds and tokens.
std::string format_rate(double bytes_per_second);
std::string format_bytes(double bytes);    ///< binary units: "1.0 GiB"
std::string format_bytes_si(double bytes); ///< as drives are sold: "1.0 GB"
std::string format_seconds(double seconds);
std::string format_tokens(std::int64_t tokens); ///< "6,057"

} // namespace breakeven
