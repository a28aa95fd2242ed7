#pragma once

#include <map>
#include <string>

namespace breakeven::predict {

/// A tier by its published figures: `NAME=[Nx]RATE[,shared=N][,fixed=TIME][,piece=TIME]`, where
/// RATE is "14GB/s" or the name of a bundled drive or network (its read or line rate).
struct TierRate {
  std::string text;     ///< as given
  std::string name;     ///< "memory", "nvme", ...
  double total_Bps = 0; ///< of all N together
  double shared = 1;    ///< ranks that load at the same time and divide it
  double fixed_s = -1;  ///< per load; below 0 = not given
  double piece_s = 0;
  std::map<std::string, std::string> identity; ///< where the rate comes from

  [[nodiscard]] double rate_Bps() const { return total_Bps / shared; }
};

/// Throws error::usage; an unknown drive is answered with the nearest names.
TierRate parse_tier_rate(const std::string& text);

/// "0", or a time with its unit ("5ms"): a bare number is refused. Throws error::usage.
double parse_cost_s(const std::string& text, const std::string& what);

/// "95.6GiB", "2TB": a size for planning, which need not be whole bytes. Throws error::usage.
double parse_size(const std::string& text, const std::string& what);

/// "4xmicron-9550-pro" or "4x30.72TB"-like counts: the number before an `x`, 1 without one, and
/// what follows it.
struct Multiple {
  double count = 1;
  std::string of;
};
Multiple parse_multiple(const std::string& text, const std::string& what);

} // namespace breakeven::predict
