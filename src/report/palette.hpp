#pragma once

#include <array>
#include <cstddef>

/// Internal to the room.
namespace breakeven::report {

/// Ink for recompute, then one per tier: hues that colour-blind readers tell apart (Okabe and Ito,
/// "Color Universal Design", 2008), darkened for a white page.
inline constexpr std::array<const char*, 9> palette = {"#1f2328", "#0068b3", "#c8500a",
                                                       "#0a8a63", "#b0578a", "#a87400",
                                                       "#3f8fc4", "#7a55c7", "#6b6b6b"};
/// The same on a dark page.
inline constexpr std::array<const char*, 9> dark_palette = {"#e6e8eb", "#4aa8f0", "#ff8a4c",
                                                            "#34c79a", "#e08fbb", "#e3b341",
                                                            "#8ecbf5", "#b39bf0", "#a5a5a5"};
/// Dashes by file; the first is solid.
inline constexpr std::array<const char*, 6> dashes = {"", "9 4", "3 3", "12 3 3 3", "6 6", "2 5"};

inline std::size_t palette_index(std::size_t color) {
  return color == 0 ? 0 : 1 + (color - 1) % (palette.size() - 1);
}

} // namespace breakeven::report
