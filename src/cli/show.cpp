#include "cli/verbs.hpp"

#include "cli/summary.hpp"
#include "profile/profile.hpp"

#include <memory>

namespace breakeven::cli {

void add_show(CLI::App& command, Outcome&) {
  struct Options {
    std::string path;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  command.add_option("file", options->path, "break-even file")->required();
  command.add_flag("--json", options->json, "print it as JSON, without raw samples");
  command.callback([options] {
    const profile::BreakEvenFile file = profile::read_file(options->path);
    print(options->json ? summary_json(file) : summary_text(file));
  });
}

} // namespace breakeven::cli
