#pragma once

#include "report/plot.hpp"

#include <string>

namespace breakeven::cli {

struct PlotStyle {
  int columns = 80; ///< of the whole picture; at least 40 are used
  int rows = 16;    ///< of the drawing area
  bool utf8 = true; ///< braille dots; else letters
  bool color = false;
};

/// As the terminal on stdout wants it: its width, its locale, colours unless NO_COLOR is set.
PlotStyle terminal_style();

/// A plot in characters, ending in its legend; "" when it has no lines. A letter at the right end
/// of each line names it, `X` is a break-even length.
std::string plot_text(const report::Plot& plot, const PlotStyle& style);

} // namespace breakeven::cli
