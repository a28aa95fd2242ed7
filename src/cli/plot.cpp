#include "cli/plot.hpp"

#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace breakeven::cli {
namespace {

using report::Plot;
using report::Series;

constexpr int label_columns = 9;
constexpr std::size_t end_columns = 2;

/// Of the SGR sequence: the terminal's own ink, then one per tier.
const char* ansi_color(std::size_t color) {
  static constexpr const char* codes[] = {"34", "33", "32", "35", "36", "31"};
  return color == 0 ? "1" : codes[(color - 1) % std::size(codes)];
}

struct Cell {
  unsigned dots = 0; ///< braille pattern
  char letter = ' '; ///< drawn instead, unless it is a space
  std::size_t color = 0;
};

class Canvas {
public:
  Canvas(int columns, int rows, const PlotStyle& style)
      : m_columns(columns), m_rows(rows), m_style(style),
        m_cells(static_cast<std::size_t>(columns * rows)) {}

  Cell& at(int column, int row) {
    return m_cells[static_cast<std::size_t>(row * m_columns + column)];
  }
  /// Row of a height from 0 (bottom) to 1.
  [[nodiscard]] int row_of(double y) const {
    return std::clamp(static_cast<int>((1 - y) * m_rows), 0, m_rows - 1);
  }
  [[nodiscard]] int column_of(double x) const {
    return std::clamp(static_cast<int>(x * m_columns), 0, m_columns - 1);
  }

  /// Both ends in shares of the canvas; what lies outside is left out.
  void line(double x0, double y0, double x1, double y1, char letter, std::size_t color) {
    const int steps = 1 + static_cast<int>(2 * std::fabs(x1 - x0) * 2 * m_columns +
                                           2 * std::min(4.0, std::fabs(y1 - y0)) * 4 * m_rows);
    for (int i = 0; i <= steps; ++i) {
      const double share = static_cast<double>(i) / steps;
      dot(std::lerp(x0, x1, share), std::lerp(y0, y1, share), letter, color);
    }
  }

  [[nodiscard]] std::string row_text(int row) {
    std::string text;
    for (int column = 0; column < m_columns; ++column)
      text += cell_text(at(column, row));
    return text;
  }

private:
  void dot(double x, double y, char letter, std::size_t color) {
    if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1)) return;
    const int dot_x = std::min(static_cast<int>(x * m_columns * 2), m_columns * 2 - 1);
    const int dot_y = std::min(static_cast<int>((1 - y) * m_rows * 4), m_rows * 4 - 1);
    Cell& cell = at(dot_x / 2, dot_y / 4);
    // Unicode 15, "Braille Patterns": dots 1-3 and 7 left, 4-6 and 8 right.
    static constexpr unsigned bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cell.dots |= bits[dot_y % 4][dot_x % 2];
    cell.color = color;
    if (!m_style.utf8) cell.letter = letter;
  }

  [[nodiscard]] std::string cell_text(const Cell& cell) const {
    std::string text(1, cell.letter);
    if (cell.letter == ' ' && cell.dots != 0) {
      const unsigned code = 0x2800 + cell.dots;
      text = {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 63)),
              static_cast<char>(0x80 | (code & 63))};
    }
    if (!m_style.color || text == " ") return text;
    return fmt::format("\033[{}m{}\033[0m", ansi_color(cell.color), text);
  }

  int m_columns, m_rows;
  PlotStyle m_style;
  std::vector<Cell> m_cells;
};

char letter_of(std::size_t series) {
  return series < 26 ? static_cast<char>('a' + series) : '*';
}

/// The letters at the ends of lines; those that end in one row stand side by side.
std::vector<std::string> end_letters(const Plot& plot, const Canvas& canvas, int rows) {
  std::vector<std::string> letters(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const double height = plot.y.position(plot.series[i].points.back().y);
    std::string& end =
        letters[static_cast<std::size_t>(canvas.row_of(std::clamp(height, 0.0, 1.0)))];
    if (end.size() < end_columns) end += letter_of(i);
  }
  return letters;
}

std::string axis_text(const Plot& plot, int columns) {
  std::string line(static_cast<std::size_t>(columns + label_columns) + end_columns, ' ');
  int free_from = 0;
  for (const report::Tick& tick : plot.x.ticks) {
    const int length = static_cast<int>(tick.label.size());
    const int middle = label_columns + 1 + static_cast<int>(plot.x.position(tick.at) * columns);
    const int begin = std::clamp(middle - length / 2, 0, static_cast<int>(line.size()) - length);
    if (begin < free_from) continue;
    line.replace(static_cast<std::size_t>(begin), tick.label.size(), tick.label);
    free_from = begin + length + 1;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string legend_text(const Plot& plot, const PlotStyle& style) {
  std::string text;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    std::string letter(1, letter_of(i));
    if (style.color) letter = fmt::format("\033[{}m{}\033[0m", ansi_color(series.color), letter);
    text += fmt::format("  {} {}", letter, printable(series.name));
    for (const report::Mark& mark : plot.marks)
      if (mark.color == series.color && mark.file == series.file)
        text += fmt::format(", X at {}", report::format(mark.x, plot.x.unit));
    text += "\n";
  }
  return text;
}

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    for (const char* spelling : {"UTF-8", "utf-8", "UTF8", "utf8"})
      if (locale.find(spelling) != std::string_view::npos) return true;
    return false; // the first one that is set decides
  }
  return false;
}

} // namespace

PlotStyle terminal_style() {
  PlotStyle style;
  winsize size{};
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  if (terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.columns = std::min<int>(size.ws_col, 160);
  style.utf8 = utf8_locale();
  const char* kind = std::getenv("TERM");
  const char* plain = std::getenv("NO_COLOR");
  style.color = terminal && kind != nullptr && std::string_view(kind) != "dumb" &&
                (plain == nullptr || *plain == '\0');
  return style;
}

std::string plot_text(const Plot& plot, const PlotStyle& style) {
  if (plot.series.empty()) return "";
  const int columns =
      std::max(40, style.columns) - label_columns - static_cast<int>(end_columns) - 2;
  Canvas canvas(columns, style.rows, style);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    for (std::size_t p = 0; p < series.points.size(); ++p) {
      const report::Point& from = series.points[p == 0 ? 0 : p - 1];
      const report::Point& to = series.points[p];
      canvas.line(plot.x.position(from.x), plot.y.position(from.y), plot.x.position(to.x),
                  plot.y.position(to.y), letter_of(i), series.color);
    }
  }
  for (const report::Mark& mark : plot.marks) {
    const double x = plot.x.position(mark.x), y = plot.y.position(mark.y);
    if (x < 0 || x > 1 || y < 0 || y > 1) continue;
    Cell& cell = canvas.at(canvas.column_of(x), canvas.row_of(y));
    cell.letter = 'X';
    cell.color = mark.color;
  }
  std::vector<std::string> labels(static_cast<std::size_t>(style.rows));
  for (const report::Tick& tick : plot.y.ticks) {
    std::string& label = labels[static_cast<std::size_t>(canvas.row_of(plot.y.position(tick.at)))];
    if (label.empty()) label = tick.label;
  }
  const std::vector<std::string> ends = end_letters(plot, canvas, style.rows);
  const char* edge = style.utf8 ? "\u2502" : "|";
  std::string text;
  for (int row = 0; row < style.rows; ++row) {
    const auto index = static_cast<std::size_t>(row);
    text += fmt::format("{:>{}}{}{} {}\n", labels[index], label_columns, edge, canvas.row_text(row),
                        ends[index]);
  }
  return text + axis_text(plot, columns) + legend_text(plot, style);
}

} // namespace breakeven::cli
