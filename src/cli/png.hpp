#pragma once

#include <string>

namespace breakeven::cli {

/// Draws an SVG as a PNG of twice its size, through the program rsvg-convert: rendering fonts is
/// librsvg's trade. `path` is replaced at once or not at all. Throws error::environment when the
/// program is not installed or fails, or `path` cannot be written.
void write_png(const std::string& svg, const std::string& path);

} // namespace breakeven::cli
