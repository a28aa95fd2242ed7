#include "compare/formats.hpp"

#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <cmath>

namespace breakeven::compare {

const registry<Format>& formats() {
  static const registry<Format> table = [] {
    registry<Format> rows("format");
    rows.add("text", {"for a terminal", text_report});
    rows.add("json", {"for programs", json_report});
    rows.add("markdown", {"for a merge request or a job summary", markdown_report});
    rows.add("junit", {"for the test page of a CI server", junit_report});
    rows.add("github", {"annotations of a GitHub Actions job", github_report});
    return rows;
  }();
  return table;
}

std::string safe(std::string_view text) {
  std::string result = printable(text);
  // GitHub's runner finds "##[command]" anywhere in a line.
  for (std::size_t at = result.find("##["); at != std::string::npos; at = result.find("##[", at))
    result[at + 2] = '(';
  return result;
}

std::string value_text(const Quantity& quantity, const Side& side) {
  if (!side.text.empty()) return safe(side.text);
  if (!side.present) return "-";
  switch (quantity.unit) {
  case Unit::seconds:
    return format_seconds(side.value);
  case Unit::bytes_per_second:
    return format_rate(side.value);
  case Unit::tokens:
    return format_tokens(std::llround(side.value)) + " tokens";
  }
  return "-";
}

namespace {

std::string signed_percent(double ratio) {
  const double change = 100 * (ratio - 1);
  if (std::abs(change) < 0.05) return "0 %";
  if (std::abs(change) >= 1000) return fmt::format("{:+.0f} %", change);
  return fmt::format("{:+.1f} %", change);
}

} // namespace

std::string change_text(const Quantity& quantity) {
  return quantity.compared ? signed_percent(quantity.ratio) : "";
}

std::string interval_text(const Quantity& quantity) {
  if (!quantity.compared || quantity.ratio_hi <= 0) return "";
  return signed_percent(quantity.ratio_lo) + " to " + signed_percent(quantity.ratio_hi);
}

std::string overall_text(const Comparison& comparison) {
  const Counts& counts = comparison.counts;
  std::string parts;
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", count, what);
  };
  add(counts.slower, "slower");
  add(counts.lost, "lost");
  add(counts.changed - std::min(counts.changed, counts.lost), "changed");
  add(counts.faster, "faster");
  add(counts.same, "same");
  add(counts.inconclusive, "inconclusive");
  return fmt::format("{}: {}", to_string(comparison.overall),
                     parts.empty() ? "nothing to compare" : parts);
}

std::string input_text(const Input& input) {
  const profile::BreakEvenFile& file = input.file;
  return fmt::format("{}: {} on {}, {} {}", safe(input.name), safe(file.model.name),
                     safe(file.prefill.device_name), safe(file.status),
                     safe(file.tool.started_utc));
}

bool notable(const Quantity& quantity) {
  return quantity.verdict != Verdict::same;
}

} // namespace breakeven::compare
