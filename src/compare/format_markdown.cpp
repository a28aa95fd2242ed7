#include "compare/formats.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::compare {
namespace {

/// As a code span: no mark-up, link, mention or HTML works inside one. The two characters that
/// could end the span or the table cell are replaced.
std::string code(const std::string& text) {
  std::string inner = safe(text);
  std::replace(inner.begin(), inner.end(), '`', '\'');
  for (std::size_t at = inner.find('|'); at != std::string::npos; at = inner.find('|', at + 1))
    inner.replace(at, 1, "¦");
  return inner.empty() ? "-" : "`" + inner + "`";
}

std::string row(const Quantity& q) {
  std::string verdict = to_string(q.verdict);
  if (q.verdict == Verdict::slower || q.lost) verdict = "**" + verdict + "**";
  const std::string interval = interval_text(q);
  return fmt::format("| {} {} | {} | {} | {}{} | {} | {} |\n", code(q.group), code(q.name),
                     code(value_text(q, q.base)), code(value_text(q, q.next)), change_text(q),
                     interval.empty() ? "" : " (" + interval + ")", verdict,
                     q.reason.empty() ? "" : code(q.reason));
}

constexpr const char* header = "| quantity | BASE | NEW | change | verdict | reason |\n"
                               "|---|--:|--:|--:|---|---|\n";

} // namespace

std::string markdown_report(const Report& report) {
  const Comparison& c = report.comparison;
  std::string text = fmt::format("### breakeven compare: {}\n\n", overall_text(c));
  if (!report.failure.empty()) text += fmt::format("Fails: {}.\n\n", report.failure);
  text += fmt::format("- BASE {}\n- NEW {}\n", code(input_text(report.base)),
                      code(input_text(report.next)));
  for (const Difference& d : c.differences)
    text += fmt::format("- {}: {} → {}; {}\n", code(d.what), code(d.base), code(d.next), d.effect);
  std::string shown, same;
  for (const Quantity& q : c.quantities)
    (notable(q) ? shown : same) += row(q);
  if (!shown.empty()) text += std::string("\n") + header + shown;
  if (!same.empty())
    text += fmt::format("\n<details><summary>{} same</summary>\n\n{}{}\n</details>\n",
                        c.counts.same, header, same);
  return text;
}

} // namespace breakeven::compare
