#include "verify/setup.hpp"

#include "breakeven/match.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace breakeven::verify {
namespace {

/// Value of an entry such as "kv_dtype=fp8 (--kv-dtype)"; "" = there is none.
std::string overridden(const profile::Model& model, const std::string& key) {
  for (const std::string& entry : model.overrides)
    if (entry.compare(0, key.size() + 1, key + "=") == 0)
      return entry.substr(key.size() + 1, entry.find_first_of(" (:", key.size()) - key.size() - 1);
  return "";
}

model::ReadOptions read_options(const profile::Model& model) {
  model::ReadOptions options;
  options.kv_dtype = overridden(model, "kv_dtype");
  options.mla_expanded = overridden(model, "mla") == "expanded";
  const std::string bytes = overridden(model, "kv_bytes_per_token");
  if (!bytes.empty() && bytes.find_first_not_of("0123456789") == std::string::npos &&
      bytes.size() < 18)
    options.kv_bytes_per_token = std::stoll(bytes);
  options.tensor_parallel = model.tensor_parallel;
  return options;
}

/// The argument that the file was made with: only paths that still lead somewhere.
std::string recorded_path(const profile::BreakEvenFile& file) {
  const std::vector<std::string>& argv = file.tool.argv;
  std::error_code ignored;
  for (std::size_t i = 0; i + 1 < argv.size(); ++i)
    if (argv[i] == "--model" && std::filesystem::exists(argv[i + 1], ignored)) return argv[i + 1];
  if (std::filesystem::exists(file.model.source, ignored)) return file.model.source;
  return "";
}

std::string model_argument(const profile::BreakEvenFile& file, const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  const std::vector<std::string> bundled = model::bundled_models();
  if (std::find(bundled.begin(), bundled.end(), file.model.name) != bundled.end())
    return file.model.name;
  const std::string path = recorded_path(file);
  if (!path.empty()) return path;
  throw error(
      error_kind::environment,
      fmt::format("the config of the file's model '{}' is not here (it was read from '{}'): "
                  "name it with --model",
                  printable(file.model.name), printable(file.model.source)));
}

void require_same(const profile::Model& file, const model::Architecture& here) {
  const auto differs = [&](const std::string& what, std::int64_t then, std::int64_t now) {
    throw error(error_kind::bad_input,
                fmt::format("the model found, {}, is not the file's {}: {} {} instead of {}; name "
                            "the right one with --model",
                            printable(here.name), printable(file.name), what, now, then));
  };
  std::int64_t then = 0;
  for (const profile::LayerKind& kind : file.layer_kinds)
    then += kind.count;
  if (then != here.layers) differs("its layers are", then, here.layers);
  const std::int64_t bytes = here.full_bytes_per_token() + here.index_bytes_per_token();
  if (bytes != file.kv_bytes_per_token)
    differs("its KV bytes per token are", file.kv_bytes_per_token, bytes);
}

/// The tier of an argument NAME or NAME=SPEC, and the SPEC.
TierChoice requested_tier(const profile::BreakEvenFile& file, const std::string& text) {
  TierChoice choice;
  choice.requested = true;
  std::size_t longest = 0;
  std::string names;
  for (std::size_t i = 0; i < file.tiers.size(); ++i) {
    const std::string& name = file.tiers[i].name;
    names += " " + printable(name);
    const bool whole = text == name;
    const bool with_spec = text.size() > name.size() + 1 && text[name.size()] == '=' &&
                           text.compare(0, name.size(), name) == 0;
    if ((!whole && !with_spec) || name.size() < longest) continue;
    longest = name.size();
    choice.index = i;
    choice.spec = whole ? "" : text.substr(name.size() + 1);
  }
  if (longest == 0)
    throw error(error_kind::usage,
                fmt::format("the file has no tier '{}', only:{}", printable(text), names));
  return choice;
}

/// Where the file's own spec leads here; a predicted file's "memory=27GB/s" means memory.
void resolve(const profile::BreakEvenFile& file, TierChoice& choice) {
  const profile::Tier& tier = file.tiers[choice.index];
  if (!choice.spec.empty()) {
    static_cast<void>(tier::parse_tier_spec(choice.spec));
    return;
  }
  if (!tier.load) {
    choice.reason = tier.reason;
    return;
  }
  const bool was_here = file.status == "measured";
  const tier::TierKind* kind = tier::tier_kinds().find(tier.kind);
  const bool by_kind = !was_here && kind != nullptr && kind->target.empty();
  try {
    choice.spec = tier::parse_tier_spec(by_kind ? tier.kind : tier.spec).text;
  } catch (const error& failure) {
    choice.reason = was_here ? failure.what()
                             : fmt::format("the file does not say where it is here: give --tier "
                                           "{}=SPEC, such as {}=file:DIR",
                                           printable(tier.name), printable(tier.name));
  }
}

} // namespace

std::vector<TierChoice> choose_tiers(const profile::BreakEvenFile& file, const Request& request) {
  std::vector<TierChoice> choices;
  for (const std::string& text : request.tiers)
    choices.push_back(requested_tier(file, text));
  if (request.tiers.empty())
    for (std::size_t i = 0; i < file.tiers.size(); ++i)
      choices.push_back({i, "", "", false});
  std::set<std::size_t> seen;
  for (TierChoice& choice : choices) {
    if (!seen.insert(choice.index).second)
      throw error(error_kind::usage,
                  "the tier '" + printable(file.tiers[choice.index].name) + "' is given twice");
    resolve(file, choice);
  }
  return choices;
}

calibrate::Request request_for(const profile::BreakEvenFile& file, const Request& request) {
  calibrate::Request same;
  same.model = model_argument(file, request.model);
  same.model_options = read_options(file.model);
  // A prediction's device ("predicted h100-sxm") is none of this machine.
  same.device = !request.device.empty()     ? request.device
                : file.status == "measured" ? file.prefill.device
                                            : "auto";
  same.chunk_tokens = file.model.chunk_tokens;
  same.block_tokens = file.model.block_tokens;
  same.budget_s = request.budget_s;
  same.threads = request.threads;
  same.output.clear();
  return same;
}

model::Architecture find_model(const profile::BreakEvenFile& file, const std::string& wanted) {
  model::Architecture found =
      model::read_architecture(model_argument(file, wanted), read_options(file.model));
  require_same(file.model, found);
  return found;
}

std::vector<std::string> node_differences(const profile::BreakEvenFile& file,
                                          const node::NodeFacts& here,
                                          const std::string& device_name) {
  std::vector<std::string> sentences;
  if (file.status != "measured") {
    sentences.push_back(fmt::format("its times are {}, not measured here", printable(file.status)));
    return sentences;
  }
  PolicyFacts facts;
  facts.fingerprint = file.node.fingerprint;
  facts.device_name = file.prefill.device_name;
  Deployment node, device;
  node.fingerprint = here.fingerprint;
  device.device_name = device_name;
  for (const Deployment* deployment : {&node, &device})
    if (const Match matched = match(facts, *deployment); !matched.matches)
      sentences.push_back(matched.message);
  const auto compare = [&](const char* what, const auto& then, const auto& now) {
    if (then != now) sentences.push_back(fmt::format("{} was {}, is {}", what, then, now));
  };
  compare("usable CPUs", file.node.usable_cpus, std::int64_t{here.usable_cpus});
  compare("NUMA nodes", file.node.numa_nodes, std::int64_t{here.numa_nodes});
  compare("kernel", printable(file.node.kernel), printable(here.kernel));
  compare("governor", printable(file.node.governor), printable(here.governor));
  return sentences;
}

std::vector<std::string> tier_differences(const profile::Tier& then, const tier::Tier& now) {
  std::vector<std::string> sentences;
  for (const char* key : {"directory", "file_system", "source", "drives", "reads", "page_cache"}) {
    const auto before = then.identity.find(key), after = now.identity().find(key);
    if (before == then.identity.end() || after == now.identity().end()) continue;
    if (before->second != after->second)
      sentences.push_back(fmt::format("tier {}: {} was '{}', is '{}'", printable(then.name), key,
                                      printable(before->second), printable(after->second)));
  }
  return sentences;
}

} // namespace breakeven::verify
