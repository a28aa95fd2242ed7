#pragma once

#include "model/json_text.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

/// What the readers of imported files share. Internal to the room.
namespace breakeven::predict {

inline constexpr std::int64_t largest_import_bytes = std::int64_t{64} << 20;
inline constexpr std::int64_t most_tokens = std::int64_t{1} << 24;

[[noreturn]] inline void refuse_import(const std::string& origin, const std::string& what) {
  throw error(error_kind::bad_input, printable(origin) + ": " + what);
}

/// A whole number in [least, most_tokens] under `key`.
inline std::int64_t tokens_at(const nlohmann::json& object, const char* key, std::int64_t least,
                              const std::string& origin) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer() ||
      found->get<double>() < static_cast<double>(least) ||
      found->get<double>() > static_cast<double>(most_tokens))
    refuse_import(origin, std::string("'") + key + "' must be a whole number of at least " +
                              std::to_string(least) + " and at most 16,777,216");
  return found->get<std::int64_t>();
}

inline bool is_time(double seconds) {
  return std::isfinite(seconds) && seconds > 0 && seconds < 1e6;
}

/// The objects of a file that is one object, a list of them, or one a line.
std::vector<nlohmann::json> json_objects(std::string_view text, const std::string& origin);
/// The text starts like JSON and names all `keys`.
bool looks_like_json(std::string_view text, const std::vector<std::string_view>& keys);

} // namespace breakeven::predict
