// OLMo 1 to 3, OLMoE, Command R, Command A, DBRX. Defaults: transformers' configuration_*.py.
#include "model/families/families.hpp"

namespace breakeven::model {
namespace {

Decoder read_common(const Config& config, Draft& draft, const Defaults& defaults) {
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  return d;
}

constexpr Defaults olmo_defaults{.vocabulary = 50304};

} // namespace

void read_olmo(const Config& config, Draft& draft) {
  Decoder d = read_common(config, draft, olmo_defaults);
  d.norm_width = 0; // its LayerNorms have no weights
  build(d, draft);
}

void read_olmo2(const Config& config, Draft& draft) {
  Decoder d = read_common(config, draft, olmo_defaults);
  add_wide_norms(d);
  build(d, draft);
}

void read_olmo3(const Config& config, Draft& draft) {
  Decoder d = read_common(config, draft, olmo_defaults);
  add_wide_norms(d);
  const std::int64_t window = config.contains("sliding_window")
                                  ? config.size("sliding_window", 0)
                                  : draft.library("sliding_window", 4096);
  if (window > 0)
    set_windows(d, config, draft, window, [](std::int64_t i) { return (i + 1) % 4 != 0; });
  build(d, draft);
}

void read_olmoe(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 2048,
                          .layers = 16,
                          .heads = 16,
                          .intermediate = 2048,
                          .vocabulary = 50304,
                          .experts = 64,
                          .experts_per_token = 8};
  Decoder d = read_common(config, draft, defaults);
  add_wide_norms(d);
  read_experts(d, config, draft, defaults);
  d.moe.intermediate = d.intermediate;
  set_sparse(d, config, [](std::int64_t) { return true; });
  build(d, draft);
}

void read_cohere(const Config& config, Draft& draft) {
  Decoder d = read_common(config, draft,
                          {.hidden = 8192,
                           .layers = 40,
                           .heads = 64,
                           .intermediate = 22528,
                           .vocabulary = 256000,
                           .tied = true});
  d.norms = 1; // attention and MLP side by side
  if (config.flag("use_qk_norm", false)) add_wide_norms(d);
  build(d, draft);
}

void read_cohere2(const Config& config, Draft& draft) {
  Decoder d = read_common(config, draft,
                          {.hidden = 8192,
                           .layers = 40,
                           .heads = 64,
                           .intermediate = 22528,
                           .vocabulary = 256000,
                           .tied = true});
  d.norms = 1;
  const std::int64_t every =
      config.count("sliding_window_pattern|_sliding_window_pattern|layer_switch", 4);
  set_windows(d, config, draft, config.count("sliding_window", 4096),
              [&](std::int64_t i) { return (i + 1) % every != 0; });
  build(d, draft);
}

void read_dbrx(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft, {.intermediate = 0});
  const auto attention = config.object("attn_config");
  const auto mlp = config.object("ffn_config");
  if (!attention) config.refuse_missing("attn_config");
  if (!mlp) config.refuse_missing("ffn_config");
  d.attention.kv_heads = d.kv_heads = attention->count("kv_n_heads");
  if (d.heads % d.kv_heads != 0) config.refuse("attn_config.kv_n_heads does not divide n_heads");
  d.moe.experts = mlp->count("moe_num_experts");
  d.moe.experts_per_token = mlp->count("moe_top_k");
  d.moe.intermediate = mlp->count("ffn_hidden_size");
  set_sparse(d, config, [](std::int64_t) { return true; });
  build(d, draft);
}

} // namespace breakeven::model
