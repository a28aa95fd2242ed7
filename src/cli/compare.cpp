#include "cli/verbs.hpp"

#include "compare/compare.hpp"
#include "compare/formats.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>

namespace breakeven::cli {
namespace {

struct Options {
  std::string base, next, fail_on = "regressed", threshold = "3%", run_to_run, format = "text";
  bool all = false, json = false;
};

/// "3%" or "0.03".
double parse_share(const std::string& text, const char* option) {
  const bool percent = !text.empty() && text.back() == '%';
  if (!percent) return parse_fraction(text, option);
  std::string number = text.substr(0, text.size() - 1);
  try {
    std::size_t used = 0;
    const double value = std::stod(number, &used) / 100;
    if (used == number.size() && value >= 0 && value < 1) return value;
  } catch (const std::exception&) { // said below
  }
  throw error(error_kind::usage,
              fmt::format("{} must be a share such as 3% or 0.03, at least 0 and below 100%, not "
                          "'{}'",
                          option, printable(text)));
}

compare::FailOn parse_fail_on(const std::string& text) {
  if (text == "regressed") return compare::FailOn::regressed;
  if (text == "changed") return compare::FailOn::changed;
  return compare::FailOn::inconclusive;
}

int run(const Options& options) {
  compare::Options settings;
  settings.threshold = parse_share(options.threshold, "--threshold");
  if (!options.run_to_run.empty())
    settings.run_to_run.compute = settings.run_to_run.load =
        parse_share(options.run_to_run, "--run-to-run");
  const compare::Format& format = compare::formats().at(options.json ? "json" : options.format);
  const compare::Input base = compare::read_input(options.base),
                       next = compare::read_input(options.next);
  const compare::Comparison comparison = compare::compare(base, next, settings);
  const std::string failure = compare::failure(comparison, parse_fail_on(options.fail_on));
  print(format.print({base, next, settings, comparison, failure, options.all}));
  return failure.empty() ? 0 : 1;
}

} // namespace

void add_compare(CLI::App& command, Outcome& outcome) {
  auto options = std::make_shared<Options>();
  command.add_option("base", options->base, "break-even file from before")->required();
  command.add_option("new", options->next, "break-even file from after")->required();
  command
      .add_option(
          "--fail-on", options->fail_on,
          "exit 1 on: regressed; changed (any difference); inconclusive (anything but same)")
      ->check(CLI::IsMember({"regressed", "changed", "inconclusive"}))
      ->capture_default_str();
  command.add_option("--threshold", options->threshold, "smaller changes count as none")
      ->capture_default_str();
  command.add_option("--run-to-run", options->run_to_run,
                     "variation between runs of an unchanged node, as a standard deviation "
                     "(default: 3% for prefill, 8% for loads)");
  std::vector<std::string> names;
  for (const auto& [name, format] : compare::formats().rows())
    names.push_back(name);
  command.add_option("--format", options->format, "text, json, markdown, junit or github")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  command.add_flag("--all", options->all, "text: a line for every quantity");
  command.add_flag("--json", options->json, "the same as --format json");
  command.callback([options, &outcome] { outcome.exit_code = run(*options); });
}

} // namespace breakeven::cli
