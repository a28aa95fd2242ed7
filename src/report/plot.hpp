#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// Plots as values: what the page, the SVG writer and the terminal draw, each in its own way.
/// Strings may come from break-even files: whoever draws them escapes them.
namespace breakeven::report {

enum class Unit { tokens, seconds, bytes, Bps, fraction, count };
const char* to_string(Unit unit);

struct Tick {
  double at = 0;
  std::string label;
};

struct Axis {
  std::string label;
  Unit unit = Unit::count;
  bool log = true;
  double lo = 0, hi = 0; ///< drawn range; above 0 when log
  std::vector<Tick> ticks;

  /// Where a value lies along the axis: 0 at lo, 1 at hi. A value that a log axis cannot show (0)
  /// lies at 0.
  [[nodiscard]] double position(double value) const;
};

struct Point {
  double x = 0, y = 0;
  double lo = 0, hi = 0; ///< interval of y; both equal y where none is known
};

struct Series {
  std::string name;
  std::size_t color = 0;     ///< 0 = ink (recompute), 1.. = one per tier name
  std::size_t file = 0;      ///< index of the break-even file: another line style each
  bool secondary = false;    ///< thin and dotted: helps to read the others
  std::vector<Point> points; ///< ascending x
};

/// A break-even length on a curve.
struct Mark {
  std::string name;
  std::size_t color = 0, file = 0;
  double x = 0, y = 0;
  double lo = 0, hi = 0; ///< interval of x
};

struct Plot {
  std::string id; ///< "times", "bandwidth", "frontier", "contention" or "pieces"
  std::string title;
  std::string caption; ///< how to read it
  Axis x, y;
  std::vector<Series> series;
  std::vector<Mark> marks;
  std::vector<double> rows; ///< x of the rows of its table, ascending
  std::string empty;        ///< why there is nothing to draw, when series is empty
};

/// "1.17 ms", "6,057", "12.3 GB/s", "34 %".
std::string format(double value, Unit unit);

/// Sets range and ticks of an axis that shows lo to hi: powers of two for tokens and bytes, 1-2-5
/// for everything else. Values of a log axis must be above 0.
void set_range(Axis& axis, double lo, double hi);

} // namespace breakeven::report
