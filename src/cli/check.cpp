#include "cli/verbs.hpp"

#include "breakeven/admission.hpp"
#include "breakeven/policy_file.hpp"
#include "profile/profile.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace breakeven::cli {
namespace {

struct Options {
  std::string path, tier, cached, prompt, resident = "0", in_flight = "1", margin = "0";
  bool json = false;
};

/// A tier by its name, or by its kind when only one has it: "file" for "file:/data/kv".
const profile::Tier& find_tier(const profile::BreakEvenFile& file, const std::string& name) {
  const profile::Tier* by_kind = nullptr;
  int of_kind = 0;
  std::vector<std::string> names;
  for (const profile::Tier& tier : file.tiers) {
    if (tier.name == name) return tier;
    names.push_back(tier.name);
    if (tier.kind == name) {
      by_kind = &tier;
      ++of_kind;
    }
  }
  if (of_kind == 1) return *by_kind;
  std::string known;
  for (const std::string& each : names)
    known += " " + printable(each);
  throw error(
      error_kind::usage,
      of_kind > 1
          ? fmt::format("several tiers are of kind '{}', name one of:{}", printable(name), known)
          : fmt::format("the file has no tier '{}', only:{}", printable(name), known));
}

struct Question {
  std::int64_t prompt = 0, cached = 0, resident = 0, in_flight = 1;
  double margin = 0;
};

Question parse(const Options& options) {
  Question q;
  q.cached = parse_tokens(options.cached, "--cached");
  q.prompt = options.prompt.empty() ? q.cached + 1 : parse_tokens(options.prompt, "--prompt");
  q.resident = options.resident == "0" ? 0 : parse_tokens(options.resident, "--resident");
  q.in_flight = parse_tokens(options.in_flight, "--in-flight");
  q.margin = options.margin == "0" ? 0 : parse_fraction(options.margin, "--margin");
  if (q.prompt > max_tokens)
    throw error(error_kind::usage, "--prompt is longer than any model reads");
  if (q.cached >= q.prompt)
    throw error(error_kind::usage,
                "--cached must be below --prompt: an engine always computes at least one token");
  if (q.resident >= q.cached)
    throw error(error_kind::usage,
                "--resident must be below --cached: otherwise there is nothing to load");
  return q;
}

std::string sentence(const Question& q, const profile::Tier& tier, const Decision& d) {
  const std::string hit =
      fmt::format("{} tokens from {}", format_tokens(q.cached - q.resident), printable(tier.name));
  if (!tier.load)
    return fmt::format("recompute: {} cannot be judged: {}", hit, printable(tier.reason));
  std::string text =
      fmt::format("{}: loading {} takes {}, recomputing {}, so loading {} {}: {}",
                  d.load ? "load" : "recompute", hit, format_seconds(d.load_s),
                  format_seconds(d.recompute_s), d.margin_s >= 0 ? "saves" : "costs",
                  format_seconds(d.margin_s >= 0 ? d.margin_s : -d.margin_s), reason_text(d));
  if (d.load && d.load_tokens.value < q.cached)
    text += fmt::format(" (best split: load the first {}, compute the rest)",
                        format_tokens(d.load_tokens.value));
  if (d.extrapolated) text += " (extrapolated: outside of what was calibrated)";
  return text;
}

std::string json_text(const Question& q, const profile::BreakEvenFile& file,
                      const profile::Tier& tier, const Decision& d) {
  const nlohmann::ordered_json document = {
      {"load", d.load},
      {"load_tokens", d.load_tokens.value},
      {"load_s", d.load_s},
      {"recompute_s", d.recompute_s},
      {"margin_s", d.margin_s},
      {"reason", tier.load ? reason_text(d) : tier.reason},
      {"extrapolated", d.extrapolated},
      {"status", file.status},
      {"tier", tier.name},
      {"prompt", q.prompt},
      {"cached", q.cached},
      {"resident", q.resident},
      {"in_flight", q.in_flight}};
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int run(const Options& options) {
  const Question q = parse(options);
  const profile::BreakEvenFile file = profile::read_file(options.path);
  const profile::Tier& tier = find_tier(file, options.tier);
  PolicyFile policy;
  try {
    policy = parse_policy(profile::to_json_text(file), printable(options.path));
  } catch (const policy_file_error& failure) {
    throw error(error_kind::bad_input, failure.what());
  }
  Query query{Tokens(q.prompt)};
  query.resident = Tokens(q.resident);
  query.margin = q.margin;
  query.add(policy.policy->find_tier(tier.name.c_str()), Tokens(q.cached),
            static_cast<double>(q.in_flight));
  const Decision decision = decide(*policy.policy, query);
  std::string line = sentence(q, tier, decision);
  if (file.status != "measured") line += fmt::format(" [{}, not measured]", printable(file.status));
  print(options.json ? json_text(q, file, tier, decision) : line + "\n");
  return decision.load ? 0 : 1;
}

} // namespace

void add_check(CLI::App& command, Outcome& outcome) {
  auto options = std::make_shared<Options>();
  command.add_option("file", options->path, "break-even file")->required();
  command.add_option("--tier", options->tier, "tier that holds the prefix, by name or kind")
      ->required();
  command
      .add_option("--cached", options->cached, "prompt tokens, from the start, that the tier holds")
      ->required();
  command.add_option("--prompt", options->prompt,
                     "tokens of the whole prompt (default: cached + 1)");
  command
      .add_option("--resident", options->resident,
                  "prompt tokens that are in device memory already")
      ->capture_default_str();
  command.add_option("--in-flight", options->in_flight, "loads from that tier at the same time")
      ->capture_default_str();
  command
      .add_option("--margin", options->margin,
                  "0.1: load only when it costs less than 90 % of recomputing")
      ->capture_default_str();
  command.add_flag("--json", options->json, "print the decision as JSON");
  command.callback([options, &outcome] { outcome.exit_code = run(*options); });
}

} // namespace breakeven::cli
