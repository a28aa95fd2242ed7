#include "cli/tier_notes.hpp"

#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::cli {
namespace {

using namespace profile;

constexpr double worth_advice =
    0.9; ///< share of the best rate below which the gap is worth closing

double rate_of(std::int64_t bytes, const Measurement& seconds) {
  return seconds.median_s > 0 ? static_cast<double>(bytes) / seconds.median_s : 0;
}

std::string store_note(const Tier& tier) {
  if (tier.store_Bps <= 0) return "";
  std::string text = "stores: " + format_rate(tier.store_Bps);
  if (tier.store_synced_Bps > 0)
    text += fmt::format(", {} until they are safe on the drive (fsync)",
                        format_rate(tier.store_synced_Bps));
  return text;
}

std::string access_note(const Access& access) {
  if (access.mode == "ideal") return "access: ideal (one large file), faster than engines read";
  if (access.ideal.empty() || access.engine_share <= 0) return "";
  const SweepPoint& largest = access.ideal.back();
  std::string text = fmt::format(
      "access: as engines read, {:.0f} % of the {} that one large file with a deep queue gives",
      100 * std::min(access.engine_share, 1.0),
      format_rate(rate_of(largest.bytes, largest.seconds)));
  if (access.engine_share < worth_advice)
    text += "; larger chunks per file, or more reads in flight, would close the gap";
  return text;
}

std::string places_note(const Access& access) {
  std::string text;
  for (const PlaceRate& place : access.places)
    text += fmt::format("{} {} {}", text.empty() ? "by itself:" : ",", printable(place.place),
                        format_rate(place.read_Bps));
  return text;
}

/// Layouts of engines on one line, plain piece sizes on another. A median of one or two loads says
/// nothing yet.
std::string layouts_note(const std::vector<LayoutCost>& layouts, bool plain_sizes) {
  constexpr std::int64_t least_count = 3;
  std::string text;
  for (const LayoutCost& layout : layouts) {
    const bool plain = layout.name.rfind("pieces of ", 0) == 0;
    if (plain != plain_sizes || layout.seconds.count < least_count) continue;
    const std::string size = format_bytes(static_cast<double>(layout.bytes / layout.pieces));
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        plain ? size : fmt::format("{} ({})", printable(layout.name), size),
                        format_rate(rate_of(layout.bytes, layout.seconds)));
  }
  if (text.empty()) return "";
  return (plain_sizes ? "by piece size: " : "by layout: ") + text;
}

std::string contention_note(const Contention& contention) {
  return fmt::format("while prefill runs: loads take {:.2f}x, steps of {} tokens {:.2f}x",
                     contention.load_slowdown, format_tokens(contention.new_tokens),
                     contention.prefill_slowdown);
}

} // namespace

std::string tier_notes(const BreakEvenFile& file) {
  std::string text;
  for (const Tier& tier : file.tiers) {
    std::vector<std::string> notes = {store_note(tier)};
    if (tier.access) {
      notes.push_back(access_note(*tier.access));
      notes.push_back(places_note(*tier.access));
    }
    if (tier.layouts) {
      notes.push_back(layouts_note(*tier.layouts, false));
      notes.push_back(layouts_note(*tier.layouts, true));
    }
    if (tier.contention) notes.push_back(contention_note(*tier.contention));
    notes.erase(std::remove(notes.begin(), notes.end(), ""), notes.end());
    if (notes.empty()) continue;
    text += printable(tier.name) + "\n";
    for (const std::string& note : notes)
      text += "  " + note + "\n";
  }
  return text;
}

} // namespace breakeven::cli
