// ChatGLM, GLM-4, GLM-4.5 and dots.llm1. Defaults: transformers' configuration_*.py; ChatGLM by its
// own configuration_chatglm.py.
#include "model/families/families.hpp"

namespace breakeven::model {

void read_chatglm(const Config& config, Draft& draft) {
  if (config.has("inner_hidden_size|position_encoding_2d"))
    config.refuse(
        "this is the first ChatGLM (2D positions, prefix attention), which is not modelled");
  Decoder d;
  d.hidden = config.count("hidden_size");
  draft.hidden(d.hidden);
  d.layers = draft.layer_count("num_layers|num_hidden_layers", 28);
  d.heads = config.count("num_attention_heads");
  d.head_dim = config.count("kv_channels", 128);
  d.intermediate = config.count("ffn_hidden_size");
  d.vocabulary = config.count("padded_vocab_size|vocab_size");
  d.tied = draft.tied(false);
  d.kv_heads =
      config.flag("multi_query_attention", false) ? config.count("multi_query_group_num") : d.heads;
  if (d.heads % d.kv_heads != 0)
    config.refuse("multi_query_group_num does not divide num_attention_heads");
  draft.max_position(config.size("seq_length|max_position_embeddings", 0));
  d.attention.kind = AttentionKind::full;
  d.attention.heads = d.heads;
  d.attention.kv_heads = d.kv_heads;
  d.attention.qk_head_dim = d.attention.v_head_dim = d.head_dim;
  const bool bias = config.flag("add_bias_linear", false);
  set_bias(d, bias || config.flag("add_qkv_bias", false), bias);
  d.mlp_bias = bias;
  d.norm_width = config.flag("rmsnorm", true) ? 1 : 2;
  build(d, draft);
}

namespace {

Decoder read_glm_decoder(const Config& config, Draft& draft) {
  Decoder d = read_decoder(
      config, draft,
      {.layers = 40, .kv_heads = 2, .intermediate = 13696, .vocabulary = 151552, .head_dim = 128});
  set_bias(d, config.flag("attention_bias", true), false);
  return d;
}

} // namespace

void read_glm(const Config& config, Draft& draft) {
  build(read_glm_decoder(config, draft), draft);
}

void read_glm4(const Config& config, Draft& draft) {
  Decoder d = read_glm_decoder(config, draft);
  d.norms = 4;
  build(d, draft);
}

void read_glm4_moe(const Config& config, Draft& draft) {
  const Defaults defaults{.layers = 46,
                          .heads = 96,
                          .kv_heads = 8,
                          .intermediate = 10944,
                          .vocabulary = 151552,
                          .experts = 128,
                          .experts_per_token = 8,
                          .moe_intermediate = 1408};
  Decoder d = read_decoder(config, draft, defaults);
  set_bias(d, config.flag("attention_bias", false), false);
  if (config.flag("use_qk_norm", false)) add_head_norms(d);
  read_experts(d, config, draft, defaults);
  d.moe.shared_intermediate = times(config.size("n_shared_experts", 1), d.moe.intermediate);
  d.moe.router_bias = true; // e_score_correction_bias
  set_sparse_after(d, config, 1);
  build(d, draft);
}

void read_dots1(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 4608,
                          .layers = 62,
                          .kv_heads = 32,
                          .intermediate = 10944,
                          .vocabulary = 152064,
                          .experts = 128,
                          .experts_per_token = 6,
                          .moe_intermediate = 1408};
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  add_head_norms(d);
  const std::int64_t first = config.size("max_window_layers", 62);
  const std::int64_t window = config.size("sliding_window", 0);
  if (window > 0) set_windows(d, config, draft, window, [&](std::int64_t i) { return i >= first; });
  read_experts(d, config, draft, defaults);
  d.moe.shared_intermediate = times(config.size("n_shared_experts", 0), d.moe.intermediate);
  d.moe.router_bias = true;
  set_sparse_after(d, config, 0);
  build(d, draft);
}

} // namespace breakeven::model
