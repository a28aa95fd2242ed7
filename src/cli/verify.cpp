#include "verify/verify.hpp"

#include "calibrate/interrupt.hpp"
#include "calibrate/run.hpp"
#include "cli/verbs.hpp"
#include "cli/verify_page.hpp"
#include "support/error.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace breakeven::cli {
namespace {

constexpr double shortest_budget_s = 3;

struct Options {
  std::string path, budget = "15s", threads = "0";
  verify::Request request;
  bool json = false, quiet = false;
};

int run(Options& options) {
  verify::Request& request = options.request;
  request.budget_s = parse_seconds(options.budget, "--budget");
  request.threads =
      static_cast<int>(std::min<std::int64_t>(parse_count(options.threads, "--threads"), 4096));
  if (request.budget_s < shortest_budget_s)
    throw error(error_kind::usage,
                fmt::format("--budget must be at least {}", format_seconds(shortest_budget_s)));
  const profile::BreakEvenFile file = profile::read_file(options.path);
  calibrate::Interrupt interrupt; // before any thread: they inherit its signal mask
  try {
    verify::Report report;
    {
      calibrate::Progress progress(options.quiet ? calibrate::Progress::Mode::quiet
                                                 : calibrate::Progress::Mode::automatic,
                                   request.budget_s);
      report = verify::verify(file, request, progress, interrupt.token());
    }
    const std::int64_t longest =
        *std::max_element(file.calibrated_lengths.begin(), file.calibrated_lengths.end());
    if (options.json) print(verify_json_text(report));
    if (!options.json && !options.quiet) print(verify_text(report, longest));
    return verify::exit_code(report);
  } catch (const calibrate::Interrupted&) {
    fmt::print(stderr, "breakeven: interrupted; nothing was verified\n");
    return 128 + interrupt.signal();
  }
}

} // namespace

void add_verify(CLI::App& command, Outcome& outcome) {
  auto options = std::make_shared<Options>();
  verify::Request& request = options->request;
  command.add_option("file", options->path, "break-even file")->required();
  command.add_option("--budget", options->budget, "time that the whole run may take")
      ->capture_default_str();
  command
      .add_option("--tier", request.tiers,
                  "only this tier of the file, NAME or NAME=SPEC to try it elsewhere; again for "
                  "more (default: all)")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--model", request.model,
                     "name or path of the file's model, when it is not where it was");
  command.add_option("--device", request.device,
                     "cpu, cuda:N or auto (default: the file's device)");
  command
      .add_option("--threads", options->threads,
                  "CPU threads; 0 = as many as affinity and cgroup allow")
      ->capture_default_str();
  command.add_flag("--quiet", options->quiet, "no progress and no table");
  command.add_flag("--json", options->json, "print the result as JSON");
  command.callback([options, &outcome] { outcome.exit_code = run(*options); });
}

} // namespace breakeven::cli
