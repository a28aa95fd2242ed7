#include "cli/verbs.hpp"

#include "calibrate/interrupt.hpp"
#include "calibrate/plan.hpp"
#include "calibrate/progress.hpp"
#include "calibrate/run.hpp"
#include "cli/listing.hpp"
#include "cli/summary.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace breakeven::cli {
namespace {

constexpr double shortest_budget_s = 5;

struct Options {
  calibrate::Request request;
  std::string max_prefix = "32k", chunk_tokens = "2048", block_tokens = "16", budget = "60s",
              threads = "0";
  std::string tensor_parallel = "1", kv_bytes_per_token;
  std::string mla;
  bool dry_run = false, list = false, quiet = false, json = false;
};

void finish_request(Options& options) {
  calibrate::Request& request = options.request;
  request.max_prefix_tokens = parse_tokens(options.max_prefix, "--max-prefix");
  request.chunk_tokens = parse_tokens(options.chunk_tokens, "--chunk-tokens");
  request.block_tokens = parse_tokens(options.block_tokens, "--block-tokens");
  request.budget_s = parse_seconds(options.budget, "--budget");
  request.threads =
      static_cast<int>(std::min<std::int64_t>(parse_count(options.threads, "--threads"), 4096));
  request.model_options.tensor_parallel = parse_tokens(options.tensor_parallel, "--tp");
  if (!options.kv_bytes_per_token.empty())
    request.model_options.kv_bytes_per_token =
        parse_bytes(options.kv_bytes_per_token, "--kv-bytes-per-token");
  request.model_options.mla_expanded = options.mla == "expanded";
  if (request.budget_s < shortest_budget_s)
    throw error(error_kind::usage,
                fmt::format("--budget must be at least {}", format_seconds(shortest_budget_s)));
  if (request.max_prefix_tokens > (std::int64_t{1} << 24))
    throw error(error_kind::usage, "--max-prefix is above 16m tokens");
}

/// Exit code 5 when there is nothing to decide with: no tier has a load model.
int exit_code_of(const profile::BreakEvenFile& file) {
  const bool any = std::any_of(file.tiers.begin(), file.tiers.end(),
                               [](const profile::Tier& tier) { return tier.load.has_value(); });
  return any ? 0 : static_cast<int>(error_kind::measurement);
}

int measure(const Options& options, const calibrate::Plan& plan) {
  calibrate::Interrupt interrupt; // before any thread: they inherit its signal mask
  profile::BreakEvenFile file;
  try {
    calibrate::Progress progress(options.quiet ? calibrate::Progress::Mode::quiet
                                               : calibrate::Progress::Mode::automatic,
                                 plan.request.budget_s);
    file = calibrate::run(plan, progress, interrupt.token());
  } catch (const calibrate::Interrupted&) {
    fmt::print(stderr, "breakeven: interrupted; {} was not written\n",
               printable(plan.request.output));
    return 128 + interrupt.signal();
  }
  profile::write_file(file, plan.request.output);
  if (options.json) print(summary_json(file));
  if (!options.json && !options.quiet) {
    print(summary_text(file));
    print(fmt::format("\nwritten to {}; `breakeven show {}` prints this again\n",
                      printable(plan.request.output), printable(plan.request.output)));
  }
  return exit_code_of(file);
}

int run(Options& options, bool json) {
  if (options.list) {
    print(json ? listing_json() : listing_text());
    return 0;
  }
  finish_request(options);
  const calibrate::Plan plan = calibrate::make_plan(options.request);
  if (options.dry_run) {
    print(json ? plan_json(plan) : calibrate::describe(plan));
    return 0;
  }
  return measure(options, plan);
}

} // namespace

void add_calibrate(CLI::App& command, Outcome& outcome) {
  auto options = std::make_shared<Options>();
  calibrate::Request& request = options->request;
  command.add_option(
      "--model", request.model,
      "bundled name, directory with a config.json, or that file (default: llama-3.2-1b on a CPU, "
      "llama-3.1-8b on a GPU)");
  command
      .add_option("--tier", request.tiers,
                  "where KV caches are kept, KIND[:TARGET][,KEY=VALUE]...; again for more "
                  "(default: memory, and "
                  "file: on the current directory)")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--device", request.device, "cpu, cuda:N or auto")->capture_default_str();
  command
      .add_option("--max-prefix", options->max_prefix, "longest prefix in tokens; 32k is 32,768")
      ->capture_default_str();
  command
      .add_option("--chunk-tokens", options->chunk_tokens,
                  "most tokens that the engine computes in one step")
      ->capture_default_str();
  command
      .add_option("--block-tokens", options->block_tokens, "tokens in one KV block of the engine")
      ->capture_default_str();
  command.add_option("--budget", options->budget, "time that the whole run may take")
      ->capture_default_str();
  command
      .add_option("--threads", options->threads,
                  "CPU threads; 0 = as many as affinity and cgroup allow")
      ->capture_default_str();
  command.add_option("--kv-dtype", request.model_options.kv_dtype,
                     "KV cache element type, when the engine overrides it");
  command.add_option("--kv-bytes-per-token", options->kv_bytes_per_token,
                     "KV bytes per token, when you know better");
  command.add_option("--mla", options->mla, "'expanded' for engines that cache MLA decompressed")
      ->check(CLI::IsMember({"latent", "expanded"}));
  command
      .add_option("--tp", options->tensor_parallel, "tensor-parallel ranks: shapes of one of them")
      ->capture_default_str();
  command.add_option("-o,--output", request.output, "break-even file to write")
      ->capture_default_str();
  command.add_flag("--dry-run", options->dry_run, "print the plan and stop");
  command.add_flag("--list", options->list,
                   "print devices, tiers and models and whether they are available here");
  command.add_flag("--quiet", options->quiet, "no progress and no table");
  command.add_flag("--json", options->json, "print the result as JSON");
  command.callback([options, &outcome] {
    options->request.argv = outcome.argv;
    outcome.exit_code = run(*options, options->json);
  });
}

} // namespace breakeven::cli
