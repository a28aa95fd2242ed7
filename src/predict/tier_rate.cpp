#include "predict/tier_rate.hpp"

#include "predict/hardware.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <cctype>

namespace breakeven::predict {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw error(error_kind::usage, "--tier '" + printable(text) + "': " + why);
}

void take_rate(TierRate& tier, const std::string& text) {
  const Multiple multiple = parse_multiple(text, "the rate of --tier " + tier.name);
  const bool is_number = !multiple.of.empty() &&
                         (std::isdigit(static_cast<unsigned char>(multiple.of[0])) != 0) &&
                         multiple.of.find("/s") != std::string::npos;
  double each = 0;
  if (is_number) {
    each = parse_rate(multiple.of, "the rate of --tier " + tier.name);
    tier.identity["source"] = "given on the command line";
  } else {
    const Hardware device = find_hardware(multiple.of, {"drive", "network"});
    const Fact* fact = device.find(device.kind == "drive" ? "read" : "rate");
    if (fact == nullptr)
      refuse(tier.text,
             device.name + " has no published " + (device.kind == "drive" ? "read rate" : "rate"));
    each = fact->value;
    tier.identity["device"] = device.title;
    tier.identity["source"] = fact->source + ", " + fact->date;
  }
  tier.total_Bps = each * multiple.count;
  tier.identity["rate"] = fmt::format("{:g} x {}", multiple.count, format_rate(each));
}

} // namespace

Multiple parse_multiple(const std::string& text, const std::string& what) {
  const auto x = text.find('x');
  const bool counted = x != std::string::npos && x > 0 && text.find_first_not_of("0123456789") == x;
  if (!counted) return {1, text};
  const std::int64_t count = parse_count(text.substr(0, x), what);
  if (count < 1 || count > 100000)
    throw error(error_kind::usage,
                what + " '" + printable(text) + "' must count from 1 to 100,000");
  return {static_cast<double>(count), text.substr(x + 1)};
}

double parse_cost_s(const std::string& text, const std::string& what) {
  if (text == "0") return 0;
  if (!text.empty() && text.find_first_not_of("0123456789.") == std::string::npos)
    throw error(error_kind::usage,
                what + " '" + printable(text) + "' needs a unit: 5ms, 200us or 0");
  return parse_seconds(text, what);
}

double parse_size(const std::string& text, const std::string& what) {
  try {
    return parse_rate(text + "/s", what);
  } catch (const error&) {
    throw error(error_kind::usage, what + " '" + printable(text) +
                                       "' is not a size such as 95.6GiB (2^30) or 2TB (1e12)");
  }
}

TierRate parse_tier_rate(const std::string& text) {
  TierRate tier;
  tier.text = text;
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    refuse(text, "expected NAME=RATE, such as memory=50GB/s or nvme=4x14GB/s,shared=8");
  tier.name = printable(text.substr(0, equals));
  if (tier.name.size() > 100) refuse(text, "the name is too long");
  const std::vector<std::string> parts = split(std::string_view(text).substr(equals + 1), ',');
  take_rate(tier, parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto sign = parts[i].find('=');
    const std::string key = parts[i].substr(0, sign);
    const std::string value = sign == std::string::npos ? "" : parts[i].substr(sign + 1);
    if (key == "shared") {
      const std::int64_t ranks = parse_count(value, "shared");
      if (ranks < 1) refuse(text, "shared must be at least 1");
      tier.shared = static_cast<double>(ranks);
      tier.identity["shared_by"] = value;
    } else if (key == "fixed") {
      tier.fixed_s = parse_cost_s(value, "fixed");
    } else if (key == "piece") {
      tier.piece_s = parse_cost_s(value, "piece");
    } else {
      refuse(text, "unknown key '" + printable(key) + "'; known: shared fixed piece");
    }
  }
  return tier;
}

} // namespace breakeven::predict
