#include "compare/formats.hpp"

#include <fmt/format.h>

#include <string_view>

namespace breakeven::compare {
namespace {

/// Text of an attribute or element, of strings that are safe(): that has taken the control
/// characters that XML forbids. U+FFFE and U+FFFF are forbidden as well.
std::string escaped_xml(std::string_view clean) {
  std::string escaped;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const std::string_view rest = clean.substr(i);
    if (rest.starts_with("\xEF\xBF\xBE") || rest.starts_with("\xEF\xBF\xBF")) {
      escaped += '?';
      i += 2;
      continue;
    }
    switch (clean[i]) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    case '\'':
      escaped += "&apos;";
      break;
    default:
      escaped += clean[i];
    }
  }
  return escaped;
}

std::string xml(std::string_view text) {
  return escaped_xml(safe(text));
}

std::string detail(const Quantity& q) {
  std::string text = fmt::format("{}: BASE {}, NEW {}", to_string(q.verdict), value_text(q, q.base),
                                 value_text(q, q.next));
  if (q.compared) text += ", " + change_text(q);
  if (const std::string interval = interval_text(q); !interval.empty())
    text += " (" + interval + ")";
  if (!q.reason.empty()) text += "; " + safe(q.reason);
  return text;
}

std::string test_case(const Quantity& q) {
  const std::string open = fmt::format("    <testcase classname=\"breakeven.{}\" name=\"{}\"",
                                       xml(q.group), xml(q.name));
  const std::string message = escaped_xml(detail(q));
  if (q.verdict == Verdict::slower || q.lost)
    return fmt::format("{}>\n      <failure type=\"{}\" message=\"{}\"/>\n    </testcase>\n", open,
                       q.lost ? "lost" : "slower", message);
  if (q.verdict == Verdict::inconclusive)
    return fmt::format("{}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", open, message);
  return fmt::format("{}>\n      <system-out>{}</system-out>\n    </testcase>\n", open, message);
}

/// The outcome by --fail-on, as a case of its own: what counts as a failure is the user's choice.
std::string whole_case(const Report& report) {
  const std::string text = escaped_xml(overall_text(report.comparison));
  const std::string body = report.failure.empty()
                               ? fmt::format("<system-out>{}</system-out>", text)
                               : fmt::format("<failure type=\"overall\" message=\"{}: {}\"/>",
                                             xml(report.failure), text);
  return fmt::format(
      "    <testcase classname=\"breakeven\" name=\"compare\">\n      {}\n    </testcase>\n", body);
}

} // namespace

std::string junit_report(const Report& report) {
  const Comparison& c = report.comparison;
  std::size_t failures = report.failure.empty() ? 0 : 1;
  std::string cases = whole_case(report);
  for (const Quantity& q : c.quantities) {
    cases += test_case(q);
    if (q.verdict == Verdict::slower || q.lost) ++failures;
  }
  std::string properties;
  const auto property = [&](std::string_view name, std::string_view value) {
    properties +=
        fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", xml(name), escaped_xml(value));
  };
  property("BASE", input_text(report.base));
  property("NEW", input_text(report.next));
  for (const Difference& d : c.differences)
    property(d.what, fmt::format("{} -> {}: {}", safe(d.base), safe(d.next), d.effect));
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<testsuites>\n"
                     "  <testsuite name=\"breakeven compare\" tests=\"{}\" failures=\"{}\" "
                     "errors=\"0\" skipped=\"{}\">\n"
                     "    <properties>\n{}    </properties>\n{}"
                     "  </testsuite>\n</testsuites>\n",
                     c.quantities.size() + 1, failures, c.counts.inconclusive, properties, cases);
}

} // namespace breakeven::compare
