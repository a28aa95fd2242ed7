#pragma once

#include "compare/compare.hpp"
#include "support/registry.hpp"

#include <string>
#include <string_view>

/// Ways to print a comparison. Strings that come from files cannot leave their place in any of
/// them: no markup, no terminal escapes, no commands of a CI runner.
namespace breakeven::compare {

/// A finished comparison and what a reader must know of its files.
struct Report {
  const Input& base;
  const Input& next;
  const Options& options;
  const Comparison& comparison;
  std::string failure; ///< empty, or why it fails by --fail-on
  bool all = false;    ///< text: a line for every quantity
};

struct Format {
  const char* summary;
  std::string (*print)(const Report& report);
};

/// text, json, markdown, junit, github.
const registry<Format>& formats();

std::string text_report(const Report& report);
std::string json_report(const Report& report);
std::string markdown_report(const Report& report);
std::string junit_report(const Report& report);
std::string github_report(const Report& report);

// Pieces that several formats share.

/// As printable(), and without the markers by which CI runners know commands in a log.
std::string safe(std::string_view text);
/// "1.23 ms", "never", "-".
std::string value_text(const Quantity& quantity, const Side& side);
/// "+4.1 %", or "" when there is no ratio.
std::string change_text(const Quantity& quantity);
/// "-1.0 % to +9.3 %", or "".
std::string interval_text(const Quantity& quantity);
/// One sentence on the whole: "regressed: 2 slower, 68 same, 1 inconclusive".
std::string overall_text(const Comparison& comparison);
/// "llama on cpu, measured 2026-...".
std::string input_text(const Input& input);
/// Worse than same, or not judged.
bool notable(const Quantity& quantity);

} // namespace breakeven::compare
