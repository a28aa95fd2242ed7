#include "cli/prediction_options.hpp"

#include "support/error.hpp"
#include "support/units.hpp"

namespace breakeven::cli {

void PredictionOptions::add_model(CLI::App& command) {
  command
      .add_option("--model", request.model,
                  "bundled name, directory with a config.json, or that file")
      ->required();
  command.add_option("--tp", tensor_parallel,
                     "tensor-parallel ranks (default: all devices of the node)");
  command.add_option("--kv-dtype", request.model_options.kv_dtype,
                     "KV cache element type, when the engine overrides it");
  command.add_option("--kv-bytes-per-token", kv_bytes_per_token,
                     "KV bytes per token, when you know better");
  command.add_option("--mla", mla, "'expanded' for engines that cache MLA decompressed")
      ->check(CLI::IsMember({"latent", "expanded"}));
  command.add_option(
      "--linear-parameters", linear_parameters,
      "parameters that each token is multiplied with, such as 70.0e9, instead of the "
      "model's own count");
}

void PredictionOptions::add_node(CLI::App& command, bool required) {
  auto* node = command.add_option(
      "--node", request.node,
      "bundled accelerator or CPU, or a JSON file of your own, with how many: h100-sxm:8");
  if (required) node->required();
  command
      .add_option(
          "--utilisation,--utilization", utilisation,
          "share of the published peak FLOP/s that prefill reaches: 0.5 (give or take 30 %), "
          "or a range 0.4-0.6")
      ->capture_default_str();
  command.add_option("--attention-utilisation,--attention-utilization", attention_utilisation,
                     "the same for attention alone (default: as --utilisation)");
  command
      .add_option("--memory-efficiency", memory_efficiency,
                  "share of the published memory bandwidth that streaming weights reaches")
      ->capture_default_str();
  command
      .add_option("--compute-dtype", request.compute_dtype,
                  "peak to use for the GEMMs, when it does not follow from the weights")
      ->check(CLI::IsMember({"bf16", "fp8", "int8", "fp4", "fp32"}));
}

void PredictionOptions::add_tiers(CLI::App& command) {
  command
      .add_option("--tier", request.tiers,
                  "NAME=[Nx]RATE[,shared=RANKS][,fixed=TIME][,piece=TIME], RATE being 14GB/s (1e9) "
                  "or the name of a bundled drive or network; again for more (default: host memory "
                  "over the host link)")
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--fixed", fixed,
                  "fixed cost of each load in tiers that do not say their own, such as 5ms")
      ->capture_default_str();
}

void PredictionOptions::add_lengths(CLI::App& command) {
  command.add_option(
      "--max-prefix", max_prefix,
      "longest prefix in tokens; 32k is 32,768 (default: the model's, at most 128k)");
  command
      .add_option("--chunk-tokens", chunk_tokens,
                  "most tokens that the engine computes in one step")
      ->capture_default_str();
  command.add_option("--block-tokens", block_tokens, "tokens in one KV block of the engine")
      ->capture_default_str();
}

void PredictionOptions::add_published(CLI::App& command) {
  command.add_option("--published", published.source,
                     "source of figures that others published: marks the file published");
  command.add_option("--measured", published.measured, "with --published: what they measured")
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--not-measured", published.not_measured,
                  "with --published: what is predicted or assumed")
      ->take_all()
      ->allow_extra_args(false);
}

void PredictionOptions::mark(profile::BreakEvenFile& file) const {
  if (!published.source.empty()) predict::mark_published(file, published);
  if (published.source.empty() && !(published.measured.empty() && published.not_measured.empty()))
    throw error(error_kind::usage, "--measured and --not-measured need --published SOURCE");
}

const predict::Request& PredictionOptions::finish(const std::vector<std::string>& argv) {
  request.argv = argv;
  request.model_options.tensor_parallel =
      tensor_parallel.empty() ? 0 : parse_tokens(tensor_parallel, "--tp");
  if (!kv_bytes_per_token.empty())
    request.model_options.kv_bytes_per_token =
        parse_bytes(kv_bytes_per_token, "--kv-bytes-per-token");
  request.model_options.mla_expanded = mla == "expanded";
  request.utilisation = predict::parse_utilisation(utilisation, "--utilisation");
  if (!attention_utilisation.empty())
    request.attention_utilisation =
        predict::parse_utilisation(attention_utilisation, "--attention-utilisation");
  request.memory_efficiency =
      predict::parse_utilisation(memory_efficiency, "--memory-efficiency").value;
  request.fixed_s = predict::parse_cost_s(fixed, "--fixed");
  if (!linear_parameters.empty())
    request.linear_parameters = predict::parse_parameters(linear_parameters, "--linear-parameters");
  if (!max_prefix.empty()) request.max_prefix_tokens = parse_tokens(max_prefix, "--max-prefix");
  request.chunk_tokens = chunk_tokens.empty() ? 0 : parse_tokens(chunk_tokens, "--chunk-tokens");
  request.block_tokens = parse_tokens(block_tokens, "--block-tokens");
  return request;
}

} // namespace breakeven::cli
