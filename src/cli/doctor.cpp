#include "doctor/doctor.hpp"

#include "cli/verbs.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace breakeven::cli {
namespace {

using doctor::Finding;
using doctor::State;
using json = nlohmann::ordered_json;

constexpr std::size_t line_width = 96;

/// Words of `text` over lines that begin in column `indent`; the first line goes on from there.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string result;
  std::size_t column = indent;
  for (const std::string& word : split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > line_width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) result += ' ';
    column += word.size() + (column > indent ? 1 : 0);
    result += word;
  }
  return result;
}

const char* heading(State state) {
  switch (state) {
  case State::missing:
    return "MISSING, and required for what you asked";
  case State::warning:
    return "WARNINGS: costs speed or spoils measurements";
  case State::unknown:
    return "UNKNOWN: could not be found out";
  case State::note:
    return "NOTES";
  case State::ok:
    return "OK";
  }
  return "";
}

std::string entry(const Finding& finding, std::size_t name_width) {
  const std::string name = printable(finding.name);
  if (finding.state == State::ok)
    return fmt::format("  {:<{}}  {}\n", name, name_width,
                       wrapped(printable(finding.found), name_width + 4));
  std::string text =
      fmt::format("  {}: {}\n", name, wrapped(printable(finding.found), name.size() + 4));
  if (!finding.why.empty()) text += "    why  " + wrapped(printable(finding.why), 9) + "\n";
  if (!finding.fix.empty()) text += "    fix  " + wrapped(printable(finding.fix), 9) + "\n";
  return text;
}

std::string text_of(const std::vector<Finding>& findings) {
  constexpr std::size_t widest = 40;
  std::size_t name_width = 0;
  for (const Finding& finding : findings)
    if (finding.state == State::ok)
      name_width = std::max(name_width, std::min(widest, printable(finding.name).size()));
  std::string text;
  const Finding* before = nullptr;
  for (const Finding& finding : findings) {
    if (before == nullptr || before->state != finding.state)
      text += fmt::format("{}{}\n", before == nullptr ? "" : "\n", heading(finding.state));
    text += entry(finding, name_width);
    before = &finding;
  }
  return text;
}

std::string json_of(const std::vector<Finding>& findings) {
  json document = {{"missing", doctor::anything_missing(findings)}, {"findings", json::array()}};
  for (const Finding& finding : findings)
    document["findings"].push_back({{"name", finding.name},
                                    {"state", to_string(finding.state)},
                                    {"found", finding.found},
                                    {"why", finding.why},
                                    {"fix", finding.fix}});
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace

void add_doctor(CLI::App& command, Outcome& outcome) {
  struct Options {
    doctor::Request request;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  command.add_option("--device", options->request.device,
                     "cpu or cuda:N: what it needs must be there (default: look at all)");
  command
      .add_option("--tier", options->request.tiers,
                  "KIND[:TARGET][,KEY=VALUE]... that must work; again for more (default: look at "
                  "memory and the current directory)")
      ->take_all()
      ->allow_extra_args(false);
  command.add_flag("--json", options->json, "print the findings as JSON");
  command.callback([options, &outcome] {
    const std::vector<Finding> findings = doctor::examine(doctor::look_here(options->request));
    print(options->json ? json_of(findings) : text_of(findings));
    if (doctor::anything_missing(findings))
      outcome.exit_code = static_cast<int>(error_kind::environment);
  });
}

} // namespace breakeven::cli
