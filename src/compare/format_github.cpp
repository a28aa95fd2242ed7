#include "compare/formats.hpp"

#include <fmt/format.h>

#include <string_view>

namespace breakeven::compare {
namespace {

/// Escapes strings that are safe() as the runner's own toolkit does: '%' and line ends everywhere,
/// ':' and ',' as well where a property ends at them. Source: github.com/actions/toolkit,
/// packages/core/src/command.ts.
std::string escaped(std::string_view text, bool property) {
  std::string result;
  for (const char c : text)
    if (c == '%')
      result += "%25";
    else if (property && c == ':')
      result += "%3A";
    else if (property && c == ',')
      result += "%2C";
    else
      result += c;
  return result;
}

std::string annotation(const char* level, std::string_view title, std::string_view message) {
  return fmt::format("::{} title={}::{}\n", level, escaped(title, true), escaped(message, false));
}

constexpr std::size_t most_per_level = 9; ///< the service shows 10 of each level for a step

class Annotations {
public:
  void add(const char* level, const std::string& title, const std::string& message) {
    ++m_count;
    if (m_count <= most_per_level) m_text += annotation(level, title, message);
  }
  [[nodiscard]] std::string text(const char* level, const char* what) const {
    if (m_count <= most_per_level) return m_text;
    return m_text + annotation(level, "breakeven",
                               fmt::format("{} more {}", m_count - most_per_level, what));
  }

private:
  std::size_t m_count = 0;
  std::string m_text;
};

} // namespace

std::string github_report(const Report& report) {
  const Comparison& c = report.comparison;
  Annotations errors, warnings;
  for (const Difference& d : c.differences)
    if (d.blocking)
      errors.add("error", safe(d.what),
                 fmt::format("{} -> {}: {}", safe(d.base), safe(d.next), d.effect));
  for (const Quantity& q : c.quantities) {
    const std::string title = safe(q.group) + ", " + safe(q.name);
    std::string message = fmt::format("{}: {} -> {}", to_string(q.verdict), value_text(q, q.base),
                                      value_text(q, q.next));
    if (q.compared) message += ", " + change_text(q);
    if (!q.reason.empty()) message += "; " + safe(q.reason);
    if (q.verdict == Verdict::slower || q.lost)
      errors.add("error", title, message);
    else if (q.verdict == Verdict::changed || q.verdict == Verdict::faster)
      warnings.add("warning", title, message);
  }
  const std::string whole =
      report.failure.empty() ? overall_text(c) : overall_text(c) + "; fails: " + report.failure;
  return errors.text("error", "slower") + warnings.text("warning", "changed") +
         annotation("notice", "breakeven compare", whole);
}

} // namespace breakeven::compare
