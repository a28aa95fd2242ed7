#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

/// Internal to the room.
namespace breakeven::fit {

/// Where `x` lies among ascending `knots`: value = y[left] + weight * (y[left + 1] - y[left]).
/// Outside of the knots the weight leaves [0, 1]: the last segment goes on. One knot: weight 0.
struct Cell {
  std::size_t left = 0;
  double weight = 0;
};

inline Cell locate(const std::vector<double>& knots, double x) {
  if (knots.size() < 2) return {};
  const auto inner = std::upper_bound(knots.begin() + 1, knots.end() - 1, x);
  const auto left = static_cast<std::size_t>(inner - knots.begin()) - 1;
  return {left, (x - knots[left]) / (knots[left + 1] - knots[left])};
}

/// a + weight * (b - a), but beyond the segment never below its end: no time falls as work grows,
/// so a falling last segment is noise that must not be carried on for ever.
inline double along(double a, double b, double weight) {
  if (weight > 1 && b < a) return b;
  return a + weight * (b - a);
}

} // namespace breakeven::fit
