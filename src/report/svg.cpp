#include "report/report.hpp"

#include "report/palette.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace breakeven::report {
namespace {

constexpr double width = 900, left = 86, right = 24, top = 44, plot_height = 400;
constexpr double row_height = 18, column_width = 280;

/// What fits into a column of the legend.
std::string shortened(const std::string& name) {
  std::size_t length = 42;
  if (name.size() <= length) return name;
  while (length > 0 && (static_cast<unsigned char>(name[length]) & 0xC0) == 0x80)
    --length; // not in the middle of a character
  return name.substr(0, length) + "...";
}

class Picture {
public:
  explicit Picture(const Plot& plot) : m_plot(plot) {}

  std::string text() {
    const std::size_t entries = m_plot.series.size(), columns = 3;
    const double bottom = top + plot_height;
    const double legend_top = bottom + 62;
    const double height =
        legend_top + row_height * static_cast<double>((entries + columns - 1) / columns) + 6;
    out("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
        "height=\"{1:g}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"12\" "
        "fill=\"#1f2328\">\n<title>{2}</title>\n<desc>{3}</desc>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        "<text x=\"{4:g}\" y=\"24\" font-size=\"16\" font-weight=\"600\">{2}</text>\n",
        width, height, escaped(m_plot.title), escaped(m_plot.caption), left);
    if (m_plot.series.empty()) {
      out("<text x=\"{:g}\" y=\"80\">{}</text>\n</svg>\n", left, escaped(m_plot.empty));
      return std::move(m_text);
    }
    grid();
    out("<clipPath id=\"frame-{}\"><rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"/>"
        "</clipPath>\n<g clip-path=\"url(#frame-{})\">\n",
        m_plot.id, left, top, width - left - right, plot_height, m_plot.id);
    for (const Series& series : m_plot.series)
      band(series);
    for (const Series& series : m_plot.series)
      line(series);
    for (const Mark& mark : m_plot.marks)
      draw(mark);
    out("</g>\n");
    for (std::size_t i = 0; i < entries; ++i)
      legend(m_plot.series[i], left + column_width * static_cast<double>(i % columns),
             legend_top + row_height * static_cast<double>(i / columns));
    out("</svg>\n");
    return std::move(m_text);
  }

private:
  template <class... Values>
  void out(fmt::format_string<Values...> pattern, Values&&... values) {
    fmt::format_to(std::back_inserter(m_text), pattern, std::forward<Values>(values)...);
  }
  [[nodiscard]] double x_of(double value) const {
    return left + std::clamp(m_plot.x.position(value), -1.0, 2.0) * (width - left - right);
  }
  [[nodiscard]] double y_of(double value) const {
    return top + (1 - std::clamp(m_plot.y.position(value), -1.0, 2.0)) * plot_height;
  }
  static const char* color(std::size_t index) { return palette[palette_index(index)]; }

  void grid() {
    const double bottom = top + plot_height;
    for (const Tick& tick : m_plot.x.ticks)
      out("<path d=\"M{0:.1f} {1:g}V{2:g}\" stroke=\"#d8dde3\"/><text x=\"{0:.1f}\" y=\"{3:g}\" "
          "text-anchor=\"middle\">{4}</text>\n",
          x_of(tick.at), top, bottom, bottom + 18, escaped(tick.label));
    for (const Tick& tick : m_plot.y.ticks)
      out("<path d=\"M{1:g} {0:.1f}H{2:g}\" stroke=\"#d8dde3\"/><text x=\"{3:g}\" y=\"{4:.1f}\" "
          "text-anchor=\"end\">{5}</text>\n",
          y_of(tick.at), left, width - right, left - 8, y_of(tick.at) + 4, escaped(tick.label));
    out("<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" fill=\"none\" "
        "stroke=\"#8c959f\"/>\n",
        left, top, width - left - right, plot_height);
    out("<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"middle\" font-size=\"13\">{}</text>\n",
        (left + width - right) / 2, bottom + 40, escaped(m_plot.x.label));
    out("<text transform=\"translate(18 {:g}) rotate(-90)\" text-anchor=\"middle\" "
        "font-size=\"13\">{}</text>\n",
        top + plot_height / 2, escaped(m_plot.y.label));
  }

  void band(const Series& series) {
    if (std::all_of(series.points.begin(), series.points.end(),
                    [](const Point& p) { return p.lo == p.hi; }))
      return;
    out("<path fill=\"{}\" fill-opacity=\"0.13\" d=\"", color(series.color));
    char command = 'M';
    for (const Point& point : series.points) {
      out("{}{:.1f} {:.1f}", command, x_of(point.x), y_of(point.hi));
      command = 'L';
    }
    for (auto point = series.points.rbegin(); point != series.points.rend(); ++point)
      out("L{:.1f} {:.1f}", x_of(point->x), y_of(point->lo));
    out("Z\"/>\n");
  }

  static std::string stroke(const Series& series) {
    const char* dash = series.secondary ? "1 4" : dashes[series.file % dashes.size()];
    return fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linecap=\"{}\"{}",
                       color(series.color), series.secondary ? "1.6" : "2.2",
                       series.secondary ? "round" : "butt",
                       *dash ? fmt::format(" stroke-dasharray=\"{}\"", dash) : "");
  }

  void line(const Series& series) {
    out("<path {} d=\"", stroke(series));
    char command = 'M';
    for (const Point& point : series.points) {
      out("{}{:.1f} {:.1f}", command, x_of(point.x), y_of(point.y));
      command = 'L';
    }
    out("\"><title>{}</title></path>\n", escaped(series.name));
    if (series.points.size() == 1)
      out("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n",
          x_of(series.points.front().x), y_of(series.points.front().y), color(series.color));
  }

  void draw(const Mark& mark) {
    const double x = x_of(mark.x), y = y_of(mark.y);
    if (mark.hi > mark.lo)
      out("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"{}\" stroke-width=\"7\" "
          "stroke-opacity=\"0.35\"/>\n",
          x_of(mark.lo), y, x_of(mark.hi), color(mark.color));
    out("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5.5\" fill=\"#fff\" stroke=\"{}\" "
        "stroke-width=\"2.2\"><title>{}: {}</title></circle>\n",
        x, y, color(mark.color), escaped(mark.name), escaped(format(mark.x, m_plot.x.unit)));
    const bool before = x > width - right - 90;
    out("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-weight=\"600\" fill=\"{}\" "
        "stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>\n",
        before ? x - 9 : x + 9, y + 17, before ? "end" : "start", color(mark.color),
        escaped(format(mark.x, m_plot.x.unit)));
  }

  void legend(const Series& series, double x, double y) {
    out("<path {} d=\"M{:g} {:g}h26\"/><text x=\"{:g}\" y=\"{:g}\">{}</text>\n", stroke(series), x,
        y - 4, x + 32, y, escaped(shortened(series.name)));
  }

  const Plot& m_plot;
  std::string m_text;
};

} // namespace

std::string svg(const Plot& plot) {
  return Picture(plot).text();
}

} // namespace breakeven::report
