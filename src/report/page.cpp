#include "report/report.hpp"

#include "report/assets.hpp"
#include "report/page_parts.hpp"
#include "report/palette.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::report {
namespace {

std::string_view asset(std::string_view name) {
  for (const auto& [key, text] : bundled_assets())
    if (key == name) return text;
  return "";
}

std::string colors(const char* selector, const std::array<const char*, 9>& values) {
  std::string css = std::string(selector) + "{";
  for (std::size_t i = 0; i < values.size(); ++i)
    css += fmt::format("--c{}:{};", i, values[i]);
  return css + "}\n";
}

std::string style() {
  return colors(":root", palette) + "@media (prefers-color-scheme:dark){" +
         colors(":root:not([data-theme=light])", dark_palette) + "}\n" +
         colors(":root[data-theme=dark]", dark_palette) + std::string(asset("page.css"));
}

/// printable() of a text of any length: that cuts what is longer than a line.
std::string without_controls(std::string_view text) {
  constexpr std::size_t piece = 180, longest = 8000;
  std::string result;
  while (!text.empty() && result.size() < longest) {
    std::size_t length = std::min(piece, text.size());
    while (length < text.size() && length > piece - 4 &&
           (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80)
      --length; // not in the middle of a character
    result += printable(text.substr(0, length));
    text.remove_prefix(length);
  }
  return result;
}

std::string heading(const std::vector<Input>& inputs) {
  std::string text = "<header>\n<h1>Load or recompute?</h1>\n<p>";
  if (inputs.size() == 1) {
    const profile::BreakEvenFile& file = inputs.front().file;
    text += fmt::format("{} on {}", escaped(file.model.name), escaped(file.prefill.device_name));
  } else {
    text += fmt::format("{} break-even files", inputs.size());
  }
  return text + "</p>\n<button id=\"theme\" type=\"button\" hidden>Dark</button>\n</header>\n";
}

std::string figure(const Plot& plot) {
  const std::string id = plot.id;
  std::string text = fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n"
      "<p id=\"{0}-caption\">{2}</p>\n",
      id, escaped(plot.title), escaped(plot.caption));
  if (plot.series.empty())
    return text + fmt::format("<p class=\"empty\">{}</p>\n</section>\n", escaped(plot.empty));
  text += fmt::format(
      "<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-roledescription=\"plot\" "
      "aria-labelledby=\"{0}-title\" aria-describedby=\"{0}-caption {0}-keys\" hidden>"
      "<canvas role=\"img\" aria-label=\"{1}; the values are in the table below\"></canvas></div>\n"
      "<p id=\"{0}-keys\" class=\"unseen\">Arrow keys go from point to point and from line to "
      "line; Escape leaves.</p>\n"
      "<p class=\"value unseen\" aria-live=\"polite\"></p>\n"
      "<div class=\"legend\" role=\"group\" aria-label=\"Lines of this plot\" hidden></div>\n"
      "<div class=\"still\">{2}</div>\n",
      id, escaped(plot.title), svg(plot));
  return text + "<details><summary>Values as a table</summary>\n" + plot_table(plot) +
         "</details>\n</section>\n";
}

} // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : without_controls(text)) {
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    case '\'':
      result += "&#39;";
      break;
    default:
      result += c;
    }
  }
  return result;
}

std::string page(const std::vector<Input>& inputs, const std::string& nonce) {
  const std::vector<Plot> all = plots(inputs);
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'nonce-{0}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>Load or recompute: {1}</title>\n<style>\n{2}</style>\n</head>\n<body>\n",
      nonce, escaped(inputs.front().file.model.name), style());
  text += heading(inputs) + "<main>\n" + verdict_section(inputs);
  for (const Plot& plot : all)
    text += figure(plot);
  text += warning_section(inputs) + provenance_section(inputs) + "</main>\n";
  text += "<script type=\"application/json\" id=\"data\">" + data_json(inputs, all) + "</script>\n";
  for (const char* script : {"chart.min.js", "page.js"})
    text +=
        fmt::format("<script nonce=\"{}\">\n", nonce) + std::string(asset(script)) + "</script>\n";
  return text + "</body>\n</html>\n";
}

} // namespace breakeven::report
