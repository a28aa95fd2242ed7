#include "support/units.hpp"

#include "support/error.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace breakeven {
namespace {

[[noreturn]] void reject(std::string_view text, std::string_view what, std::string_view expected) {
  throw error(error_kind::usage, fmt::format("{} '{}' is not {}", what, printable(text), expected));
}

/// Splits "1.5GiB" into 1.5 and "GiB". from_chars, so that no locale changes what a number means.
std::pair<double, std::string_view> number_and_suffix(std::string_view text, std::string_view what,
                                                      std::string_view expected) {
  double value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || !std::isfinite(value)) reject(text, what, expected);
  return {value, text.substr(static_cast<std::size_t>(end - text.data()))};
}

std::int64_t whole(double value, double unit, std::string_view text, std::string_view what,
                   std::string_view expected) {
  const double scaled = value * unit;
  if (!(scaled >= 1) || scaled >= 9.2e18 || scaled != std::floor(scaled))
    reject(text, what, expected);
  return static_cast<std::int64_t>(scaled);
}

std::string scaled(double value, double step, const char* const* names, int count) {
  int index = 0;
  while (std::fabs(value) >= step * 0.9995 && index + 1 < count) {
    value /= step;
    ++index;
  }
  const double magnitude = std::fabs(value);
  const int decimals = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, names[index]);
}

} // namespace

std::int64_t parse_tokens(std::string_view text, std::string_view what) {
  constexpr std::string_view expected = "a positive token count such as 4096 or 32k (k = 1,024)";
  const auto [value, suffix] = number_and_suffix(text, what, expected);
  double unit = 0;
  if (suffix.empty()) unit = 1;
  if (suffix == "k" || suffix == "K") unit = 1024;
  if (suffix == "m" || suffix == "M") unit = 1024.0 * 1024.0;
  if (unit == 0) reject(text, what, expected);
  return whole(value, unit, text, what, expected);
}

std::int64_t parse_bytes(std::string_view text, std::string_view what) {
  constexpr std::string_view expected = "a size such as 65536, 64KiB (1,024) or 4MB (1,000,000)";
  const auto [value, suffix] = number_and_suffix(text, what, expected);
  constexpr std::pair<std::string_view, double> units[] = {
      {"", 1},      {"B", 1},    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
      {"kB", 1e3},  {"KB", 1e3}, {"MB", 1e6},     {"GB", 1e9},        {"TiB", 1099511627776.0},
      {"TB", 1e12},
  };
  for (const auto& [name, unit] : units)
    if (suffix == name) return whole(value, unit, text, what, expected);
  reject(text, what, expected);
}

double parse_seconds(std::string_view text, std::string_view what) {
  constexpr std::string_view expected = "a positive time such as 60s, 500ms or 2m";
  const auto [value, suffix] = number_and_suffix(text, what, expected);
  double unit = 0;
  if (suffix.empty() || suffix == "s") unit = 1;
  if (suffix == "ms") unit = 1e-3;
  if (suffix == "us") unit = 1e-6;
  if (suffix == "m" || suffix == "min") unit = 60;
  if (suffix == "h") unit = 3600;
  if (unit == 0 || !(value > 0) || !std::isfinite(value * unit)) reject(text, what, expected);
  return value * unit;
}

double parse_rate(std::string_view text, std::string_view what) {
  constexpr std::string_view expected =
      "a rate such as 14GB/s (1e9), 2GiB/s (2^30) or 400Gbit/s, above 0 and with its unit";
  auto [value, suffix] = number_and_suffix(text, what, expected);
  while (!suffix.empty() && suffix.front() == ' ')
    suffix.remove_prefix(1);
  constexpr std::pair<std::string_view, double> units[] = {
      {"B/s", 1},           {"kB/s", 1e3},           {"MB/s", 1e6},
      {"GB/s", 1e9},        {"TB/s", 1e12},          {"KiB/s", 1024.0},
      {"MiB/s", 1048576.0}, {"GiB/s", 1073741824.0}, {"TiB/s", 1099511627776.0},
      {"Mbit/s", 1e6 / 8},  {"Gbit/s", 1e9 / 8},     {"Tbit/s", 1e12 / 8},
  };
  for (const auto& [name, unit] : units)
    if (suffix == name && value > 0 && value * unit < 1e18) return value * unit;
  reject(text, what, expected);
}

double parse_fraction(std::string_view text, std::string_view what) {
  constexpr std::string_view expected = "a fraction of at least 0 and below 1";
  const auto [value, suffix] = number_and_suffix(text, what, expected);
  if (!suffix.empty() || value < 0 || value >= 1) reject(text, what, expected);
  return value;
}

std::int64_t parse_count(std::string_view text, std::string_view what) {
  std::int64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, ec] = std::from_chars(text.data(), last, value);
  if (text.empty() || ec != std::errc{} || end != last || value < 0)
    reject(text, what, "a whole number of 0 or more");
  return value;
}

std::string format_rate(double bytes_per_second) {
  static constexpr const char* names[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return scaled(bytes_per_second, 1000, names, 5);
}

std::string format_bytes(double bytes) {
  static constexpr const char* names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return scaled(bytes, 1024, names, 6);
}

std::string format_bytes_si(double bytes) {
  static constexpr const char* names[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  return scaled(bytes, 1000, names, 7);
}

std::string format_seconds(double seconds) {
  const double magnitude = std::fabs(seconds);
  if (magnitude >= 120) return fmt::format("{:.1f} min", seconds / 60);
  if (magnitude == 0) return "0 s";
  static constexpr const char* names[] = {"ns", "us", "ms", "s"};
  return scaled(seconds * 1e9, 1000, names, 4);
}

std::string format_tokens(std::int64_t tokens) {
  std::string digits = std::to_string(tokens);
  const std::size_t first = tokens < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3)
    digits.insert(at - 3, 1, ',');
  return digits;
}

} // namespace breakeven
