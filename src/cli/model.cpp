#include "cli/model_card.hpp"
#include "cli/table.hpp"
#include "cli/verbs.hpp"
#include "model/describe.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <nlohmann/json.hpp>

#include <memory>

namespace breakeven::cli {
namespace {

struct Options {
  std::string name, kv_dtype, tp = "1", tokens = "1k,8k,32k,128k", kv_bytes, mla;
  bool json = false, list = false;
};

std::string dump(const nlohmann::ordered_json& document) {
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string list_text() {
  Table table({"model", "layers", "KV a token", "KV at 32k", "parameters"});
  for (const std::string& name : model::bundled_models()) {
    const model::Architecture m = model::read_architecture(name);
    table.add({name, std::to_string(m.layers),
               format_bytes(static_cast<double>(m.full_bytes_per_token())),
               format_bytes(static_cast<double>(m.kv_bytes(32768))), format_tokens(m.parameters)});
  }
  return table.text();
}

std::string list_json() {
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const std::string& name : model::bundled_models())
    names.push_back({{"model", name}, {"source", model::read_architecture(name).source}});
  return dump({{"models", names}});
}

model::ReadOptions read_options(const Options& options) {
  model::ReadOptions read;
  read.kv_dtype = options.kv_dtype;
  read.tensor_parallel = parse_count(options.tp, "--tp");
  if (!options.kv_bytes.empty()) {
    read.kv_bytes_per_token = parse_bytes(options.kv_bytes, "--kv-bytes-per-token");
    if (read.kv_bytes_per_token < 1)
      throw error(error_kind::usage, "--kv-bytes-per-token must be at least 1");
  }
  if (options.mla != "" && options.mla != "expanded" && options.mla != "latent")
    throw error(error_kind::usage,
                "--mla takes latent or expanded, not '" + printable(options.mla) + "'");
  read.mla_expanded = options.mla == "expanded";
  return read;
}

int run(const Options& options) {
  if (options.list) {
    print(options.json ? list_json() : list_text());
    return 0;
  }
  if (options.name.empty())
    throw error(error_kind::usage,
                "name a model, a config.json, a folder or a GGUF file, or --list");
  std::vector<std::int64_t> tokens;
  for (const std::string& part : split(options.tokens, ','))
    tokens.push_back(parse_tokens(part, "--tokens"));
  const model::ReadOptions read = read_options(options);
  if (!options.json) {
    print(model_card(model::read_architecture(options.name, read), tokens));
    return 0;
  }
  try {
    print(dump(model::describe(model::read_architecture(options.name, read), tokens)));
    return 0;
  } catch (const error& failure) {
    // A file that does not determine the answer is an answer too, for a program that reads JSON.
    if (failure.kind() != error_kind::bad_input) throw;
    print(dump(model::describe_refusal(options.name, failure.what())));
    return failure.exit_code();
  }
}

} // namespace

void add_model(CLI::App& command, Outcome& outcome) {
  auto options = std::make_shared<Options>();
  command.add_option("model", options->name,
                     "bundled name, config.json, folder that holds one, or GGUF file");
  command.add_option("--kv-dtype", options->kv_dtype,
                     "element type of the KV cache: bf16, fp16, fp32, fp8, int8, int4, nvfp4");
  command.add_option("--tp", options->tp, "tensor-parallel ranks: shapes and bytes of one rank")
      ->capture_default_str();
  command.add_option("--tokens", options->tokens, "lengths to show, e.g. 8k,32k")
      ->capture_default_str();
  command.add_option("--kv-bytes-per-token", options->kv_bytes,
                     "your engine's own figure for what one token adds");
  command.add_option("--mla", options->mla,
                     "latent, or expanded: the engine caches decompressed keys and values");
  command.add_flag("--list", options->list, "list the bundled models");
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &outcome] { outcome.exit_code = run(*options); });
}

} // namespace breakeven::cli
