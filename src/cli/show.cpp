#include "cli/verbs.hpp"

#include "cli/plot.hpp"
#include "cli/summary.hpp"
#include "profile/profile.hpp"
#include "report/report.hpp"

#include <memory>
#include <unistd.h>

namespace breakeven::cli {

void add_show(CLI::App& command, Outcome&) {
  struct Options {
    std::string path;
    bool json = false, plot = false, quiet = false;
  };
  auto options = std::make_shared<Options>();
  command.add_option("file", options->path, "break-even file")->required();
  command.add_flag("--json", options->json, "print it as JSON, without raw samples");
  command.add_flag("--plot", options->plot, "draw the curves even when this is not a terminal");
  command.add_flag("--quiet", options->quiet, "tables alone, without the drawing");
  command.callback([options] {
    const profile::BreakEvenFile file = profile::read_file(options->path);
    if (options->json) {
      print(summary_json(file));
      return;
    }
    std::string text = summary_text(file);
    if (!options->quiet && (options->plot || ::isatty(STDOUT_FILENO) == 1))
      text += "\n" + plot_text(report::times_plot({{"", file}}), terminal_style());
    print(text);
  });
}

} // namespace breakeven::cli
