#include "cli/verbs.hpp"

#include "cli/prediction_options.hpp"
#include "cli/summary.hpp"
#include "cli/table.hpp"
#include "predict/hardware.hpp"
#include "predict/like.hpp"
#include "predict/predict.hpp"
#include "profile/profile.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace breakeven::cli {
namespace {

std::string hardware_text() {
  Table table({"name", "kind", "what", "facts"});
  table.left(1);
  table.left(2);
  table.left(3);
  for (const predict::Hardware& each : predict::hardware()) {
    std::string facts;
    for (const auto& [key, fact] : each.facts)
      facts += (facts.empty() ? "" : ", ") + key + " " + fact.text;
    table.add({each.name, each.kind, each.title, facts});
  }
  return table.text();
}

std::string hardware_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const predict::Hardware& each : predict::hardware()) {
    nlohmann::ordered_json facts;
    for (const auto& [key, fact] : each.facts)
      facts[key] = {{"value", fact.value},
                    {"text", fact.text},
                    {"source", fact.source},
                    {"date", fact.date},
                    {"note", fact.note}};
    list.push_back(
        {{"name", each.name}, {"kind", each.kind}, {"title", each.title}, {"facts", facts}});
  }
  return list.dump(1) + "\n";
}

struct Options : PredictionOptions {
  std::string output, like, like_model;
  bool list = false, json = false;
};

void run(Options& options, const std::vector<std::string>& argv) {
  if (options.list) {
    print(options.json ? hardware_json() : hardware_text());
    return;
  }
  if (options.request.model.empty()) throw error(error_kind::usage, "predict needs --model");
  if (options.request.node.empty() && options.like.empty())
    throw error(error_kind::usage,
                "predict needs --node (`breakeven predict --list` shows the bundled ones), or a "
                "measured file with --like");
  const predict::Request& request = options.finish(argv);
  profile::BreakEvenFile file =
      options.like.empty()
          ? predict::predict(predict::resolve(request))
          : predict::predict_like(profile::read_file(options.like), request, options.like_model);
  options.mark(file);
  if (!options.output.empty()) profile::write_file(file, options.output);
  print(options.json ? summary_json(file) : summary_text(file));
  if (!options.output.empty() && !options.json)
    print(fmt::format("\nwritten to {}; `breakeven show {}` prints this again\n",
                      printable(options.output), printable(options.output)));
}

} // namespace

void add_predict(CLI::App& command, Outcome& outcome) {
  auto options = std::make_shared<Options>();
  options->add_model(command);
  options->add_node(command, false);
  options->add_tiers(command);
  options->add_lengths(command);
  options->add_published(command);
  command.get_option("--model")->required(false);
  command.add_option("--like", options->like,
                     "a measured break-even file: keep the utilisation that it found and its load "
                     "times, for another --model");
  command.add_option("--like-model", options->like_model,
                     "config.json of the model in that file, when its name is not a bundled one");
  command.add_option("-o,--output", options->output, "break-even file to write, marked predicted");
  command.add_flag("--list", options->list, "print the bundled hardware with its facts");
  command.add_flag("--json", options->json, "print the result as JSON");
  command.callback([options, &outcome] { run(*options, outcome.argv); });
}

} // namespace breakeven::cli
