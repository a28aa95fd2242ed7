// Mixtures of experts with grouped attention: ERNIE 4.5, Hunyuan, EXAONE MoE, Ling, gpt-oss.
// Defaults and shapes: transformers' models of these names; Ling by its modeling_bailing_moe.py.
#include "model/families/families.hpp"

namespace breakeven::model {
namespace {

/// A value that a file gives once or once a layer; only one that is the same everywhere is read.
std::int64_t uniform(const Config& config, const char* key, std::int64_t definition) {
  const nlohmann::json* value = config.find(key);
  if (value == nullptr || !value->is_array()) return config.size(key, definition);
  const std::vector<std::int64_t> list = config.numbers(key);
  for (const std::int64_t n : list)
    if (n != list.front())
      config.refuse(std::string("'") + key + "' differs between layers, which is not modelled");
  return list.empty() ? definition : list.front();
}

} // namespace

void read_ernie_moe(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 2560,
                          .layers = 28,
                          .heads = 20,
                          .kv_heads = 4,
                          .intermediate = 12288,
                          .vocabulary = 103424,
                          .tied = true};
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("use_bias", false);
  set_bias(d, bias, bias);
  d.mlp_bias = bias;
  d.moe.experts = uniform(config, "moe_num_experts", 64);
  d.moe.experts_per_token = uniform(config, "moe_k", 6);
  d.moe.intermediate = uniform(config, "moe_intermediate_size", 1536);
  d.moe.shared_intermediate = times(config.size("moe_num_shared_experts", 2), d.moe.intermediate);
  d.moe.router_bias = true;
  d.moe.shared_bias = d.head_bias = bias;
  const std::int64_t first = uniform(config, "moe_layer_start_index", 1);
  const std::int64_t every = config.count("moe_layer_interval", 1);
  const nlohmann::json* end = config.find("moe_layer_end_index");
  const std::int64_t last = end != nullptr && *end == -1
                                ? d.layers - 1
                                : uniform(config, "moe_layer_end_index", d.layers - 1);
  set_sparse(d, config,
             [&](std::int64_t i) { return (i + 1) % every == 0 && i >= first && i <= last; });
  build(d, draft);
}

void read_hunyuan_moe(const Config& config, Draft& draft) {
  if (config.flag("use_cla", false))
    config.refuse("its layers share KV caches ('use_cla'), which is not modelled");
  Decoder d = read_decoder(config, draft, {.vocabulary = 290943});
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  if (config.flag("use_qk_norm", true)) add_head_norms(d);
  d.moe.experts = config.count("num_experts");
  d.moe.experts_per_token = uniform(config, "moe_topk", 1);
  d.moe.intermediate = uniform(config, "moe_intermediate_size", d.intermediate);
  d.moe.shared_intermediate = config.flag("use_mixed_mlp_moe", true)
                                  ? times(uniform(config, "num_shared_expert", 1), d.intermediate)
                                  : 0;
  set_sparse(d, config, [](std::int64_t) { return true; });
  build(d, draft);
}

void read_exaone_moe(const Config& config, Draft& draft) {
  const Defaults defaults{.kv_heads = 32,
                          .intermediate = 16384,
                          .vocabulary = 102400,
                          .experts = 64,
                          .experts_per_token = 8,
                          .moe_intermediate = 1024};
  Decoder d = read_decoder(config, draft, defaults);
  add_head_norms(d);
  const nlohmann::json* pattern = config.find("sliding_window_pattern");
  const auto every = pattern != nullptr && pattern->is_string()
                         ? static_cast<std::int64_t>(pattern->get<std::string>().size())
                         : config.size("sliding_window_pattern", 4);
  const std::int64_t window = config.size("sliding_window", 0);
  if (window > 0 && every > 0)
    set_windows(d, config, draft, window, [&](std::int64_t i) { return (i + 1) % every != 0; });
  read_experts(d, config, draft, defaults);
  d.moe.shared_intermediate = times(config.size("num_shared_experts", 1), d.moe.intermediate);
  d.moe.router_bias = true;
  set_sparse_after(d, config, 1);
  build(d, draft);
}

void read_bailing_moe(const Config& config, Draft& draft) {
  const Defaults defaults{.layers = 28,
                          .heads = 16,
                          .vocabulary = 126464,
                          .experts = 64,
                          .experts_per_token = 6,
                          .moe_intermediate = 1408};
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("use_bias", false);
  set_bias(d, config.flag("use_qkv_bias", bias), bias);
  if (config.flag("use_qk_norm", false)) add_head_norms(d);
  read_experts(d, config, draft, defaults);
  d.moe.shared_intermediate = times(config.size("num_shared_experts", 0), d.moe.intermediate);
  d.moe.router_bias = config.flag("moe_router_enable_expert_bias", false);
  set_sparse_after(d, config, 0);
  build(d, draft);
}

void read_gpt_oss(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 2880,
                          .layers = 36,
                          .heads = 64,
                          .kv_heads = 8,
                          .intermediate = 2880,
                          .vocabulary = 201088,
                          .head_dim = 64,
                          .experts = 128,
                          .experts_per_token = 4};
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("attention_bias", true);
  set_bias(d, bias, bias);
  d.extra_parameters = d.heads; // one sink a head
  set_windows(d, config, draft, config.count("sliding_window", 128),
              [](std::int64_t i) { return i % 2 == 0; });
  read_experts(d, config, draft, defaults);
  d.moe.intermediate = d.intermediate;
  d.moe.router_bias = d.moe.expert_bias = true;
  set_sparse(d, config, [](std::int64_t) { return true; });
  build(d, draft);
}

} // namespace breakeven::model
