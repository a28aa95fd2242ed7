#include "cli/verbs.hpp"

#include "cli/prediction_options.hpp"
#include "cli/summary.hpp"
#include "predict/import.hpp"
#include "profile/profile.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <memory>

namespace breakeven::cli {
namespace {

struct Options : PredictionOptions {
  std::vector<std::string> files;
  std::string format = "auto", output;
  bool json = false;
};

std::string formats() {
  std::string text = "auto";
  for (const auto& [name, format] : predict::import_formats().rows())
    text += fmt::format("; {} = {}", name, format.summary);
  return text;
}

int run(Options& options, const std::vector<std::string>& argv) {
  predict::Import imported = predict::read_imports(options.files, options.format);
  profile::BreakEvenFile file = predict::import_file(std::move(imported), options.finish(argv));
  options.mark(file);
  if (!options.output.empty()) profile::write_file(file, options.output);
  print(options.json ? summary_json(file) : summary_text(file));
  if (!options.output.empty() && !options.json)
    print(fmt::format("\nwritten to {}; `breakeven show {}` prints this again\n",
                      printable(options.output), printable(options.output)));
  return 0;
}

} // namespace

void add_import(CLI::App& command, Outcome& outcome) {
  auto options = std::make_shared<Options>();
  options->chunk_tokens.clear(); // the file may say
  command.add_option("files", options->files, "results of another tool")->required();
  command.add_option("--format", options->format, formats())->capture_default_str();
  options->add_model(command);
  options->add_node(command, false);
  options->add_tiers(command);
  options->add_lengths(command);
  options->add_published(command);
  command.add_option("-o,--output", options->output, "break-even file to write, marked imported");
  command.add_flag("--json", options->json, "print the result as JSON");
  command.callback([options, &outcome] { outcome.exit_code = run(*options, outcome.argv); });
}

} // namespace breakeven::cli
