#include "cli/png.hpp"
#include "cli/verbs.hpp"

#include "profile/text_file.hpp"
#include "report/report.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <random>

namespace breakeven::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string output, svg, png, plot = "times";
  bool quiet = false;
};

/// 128 bits that whoever wrote a break-even file cannot have foreseen.
std::string fresh_nonce() {
  std::random_device device;
  std::string nonce;
  for (int i = 0; i < 4; ++i)
    nonce += fmt::format("{:08x}", static_cast<unsigned>(device()));
  return nonce;
}

const report::Plot& chosen(const std::vector<report::Plot>& plots, const std::string& id) {
  registry<const report::Plot*> table("plot");
  for (const report::Plot& plot : plots)
    table.add(plot.id, &plot);
  return *table.at(id);
}

void run(const Options& options) {
  if (options.output.empty() && options.svg.empty() && options.png.empty())
    throw error(error_kind::usage,
                "report needs -o report.html, or --svg picture.svg, or --png picture.png");
  for (const std::string& path : options.paths)
    for (const std::string& output : {options.output, options.svg, options.png}) {
      std::error_code ignored;
      if (!output.empty() && std::filesystem::equivalent(path, output, ignored))
        throw error(error_kind::usage, printable(output) + " is one of the break-even files: "
                                                           "write to another name");
    }
  std::vector<report::Input> inputs;
  const std::vector<std::string> labels = report::label_files(options.paths);
  for (std::size_t i = 0; i < options.paths.size(); ++i)
    inputs.push_back({labels[i], profile::read_file(options.paths[i])});
  std::vector<std::string> written;
  if (!options.svg.empty() || !options.png.empty()) {
    const std::vector<report::Plot> plots = report::plots(inputs);
    const std::string picture = report::svg(chosen(plots, options.plot));
    if (!options.svg.empty()) {
      profile::write_text(picture, options.svg);
      written.push_back(options.svg);
    }
    if (!options.png.empty()) {
      write_png(picture, options.png);
      written.push_back(options.png);
    }
  }
  if (!options.output.empty()) {
    profile::write_text(report::page(inputs, fresh_nonce()), options.output);
    written.push_back(options.output);
  }
  if (options.quiet) return;
  for (const std::string& path : written)
    print(fmt::format("written to {}\n", printable(path)));
}

} // namespace

void add_report(CLI::App& command, Outcome&) {
  auto options = std::make_shared<Options>();
  command
      .add_option("files", options->paths, "break-even files; several are drawn over each other")
      ->required();
  command.add_option("-o,--output", options->output, "HTML page to write, complete in itself");
  command.add_option("--svg", options->svg, "write one plot as a picture");
  command.add_option("--png", options->png, "the same as a PNG, drawn by rsvg-convert");
  command
      .add_option("--plot", options->plot,
                  "the plot of --svg and --png: times, bandwidth, frontier, contention or pieces")
      ->capture_default_str();
  command.add_flag("--quiet", options->quiet, "do not say what was written");
  command.callback([options] { run(*options); });
}

} // namespace breakeven::cli
