#include "cli/verbs.hpp"

#include "fleet/fleet.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <memory>

namespace breakeven::cli {
namespace {

struct Options {
  std::vector<std::string> paths, argv;
  std::string output, nodes = "0.95";
  bool json = false;
};

double parse_nodes(const std::string& text) {
  if (text == "1" || text == "1.0") return 1;
  const double share = parse_fraction(text, "--nodes");
  if (share >= 0.5) return share;
  throw error(error_kind::usage,
              "--nodes must be between 0.5 and 1: a policy that is wrong on most "
              "nodes is not a careful one");
}

void run(const Options& options) {
  const double share = parse_nodes(options.nodes);
  if (!options.output.empty()) profile::require_writable(options.output);
  const fleet::Fleet fleet = fleet::read(options.paths);
  if (!fleet.broken.empty())
    fmt::print(stderr, "breakeven: {} of {} files could not be read\n", fleet.broken.size(),
               fleet.broken.size() + fleet.nodes.size() + fleet.others.size());
  const fleet::Survey survey = fleet::survey(fleet);
  if (!options.output.empty())
    profile::write_file(fleet::merge(fleet, share, options.argv), options.output);
  print(options.json ? fleet::json_report(fleet, survey) : fleet::text_report(fleet, survey));
  if (!options.output.empty() && !options.json)
    print(fmt::format("\none policy for all nodes is written to {}\n", printable(options.output)));
}

} // namespace

void add_fleet(CLI::App& command, Outcome& outcome) {
  auto options = std::make_shared<Options>();
  command
      .add_option("files", options->paths,
                  "break-even files of nodes of one kind, or directories of them")
      ->required();
  command.add_option("-o,--output", options->output,
                     "write one break-even file that is safe on all nodes");
  command
      .add_option("--nodes", options->nodes,
                  "share of nodes that it must be safe on; 1 = the very slowest and fastest too")
      ->capture_default_str();
  command.add_flag("--json", options->json, "print the result as JSON");
  command.callback([options, &outcome] {
    options->argv = outcome.argv;
    run(*options);
  });
}

} // namespace breakeven::cli
