// MPT, Falcon, StarCoder 2, StableLM, Nemotron: LayerNorms with a few switches each. Defaults:
// transformers' configuration_*.py.
#include "model/families/families.hpp"

namespace breakeven::model {

void read_mpt(const Config& config, Draft& draft) {
  Decoder d = read_decoder(
      config, draft,
      {.vocabulary = 50368, .mlp_ratio = config.count("expansion_ratio", 4), .tied = true});
  bool alibi = true, rope = false, query_norms = false;
  if (const auto attention = config.object("attn_config")) {
    alibi = attention->flag("alibi", false);
    rope = attention->flag("rope", false);
    query_norms = attention->flag("qk_ln", false);
    const std::string type = attention->text("attn_type", "multihead_attention");
    d.kv_heads = attention->count("kv_n_heads", type == "multiquery_attention" ? 1 : d.heads);
    if (d.heads % d.kv_heads != 0) config.refuse("attn_config.kv_n_heads does not divide n_heads");
  }
  d.attention.kv_heads = d.kv_heads;
  const bool bias = !config.flag("no_bias", true);
  set_bias(d, bias, bias);
  d.mlp_bias = bias;
  d.norm_width = bias ? 2 : 1;
  d.gated = false;
  d.activation = Activation::gelu;
  if (query_norms) add_wide_norms(d);
  build(d, draft);
  if (config.flag("learned_pos_emb", true) && !alibi && !rope)
    draft.parameters(times(config.count("max_seq_len", 2048), d.hidden));
}

void read_falcon(const Config& config, Draft& draft) {
  Decoder d = read_decoder(
      config, draft,
      {.hidden = 4544, .heads = 71, .vocabulary = 65024, .mlp_ratio = 4, .tied = true});
  // The first files, of model_type RefinedWeb, name KV heads only in the new layout.
  const bool grouped = config.flag("new_decoder_architecture", config.has("n_head_kv"));
  if (!grouped && config.flag("multi_query", true)) d.kv_heads = 1;
  if (!grouped && !config.flag("multi_query", true)) d.kv_heads = d.heads;
  d.attention.kv_heads = d.kv_heads;
  const bool bias = config.flag("bias", false);
  set_bias(d, bias, bias);
  d.mlp_bias = bias;
  d.gated = false;
  d.activation = Activation::gelu;
  d.norm_width = 2;
  const bool parallel = config.flag("parallel_attn", true);
  d.norms = grouped ? config.count("num_ln_in_parallel_attn", 2) : 1;
  if (!grouped && !parallel) d.norms = 2;
  build(d, draft);
}

void read_starcoder2(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft,
                           {.hidden = 3072,
                            .layers = 30,
                            .heads = 24,
                            .kv_heads = 2,
                            .intermediate = 12288,
                            .vocabulary = 49152,
                            .tied = true});
  const bool bias = config.flag("use_bias", true);
  set_bias(d, bias, bias);
  d.mlp_bias = bias;
  d.gated = false;
  d.norm_width = 2;
  d.activation = activation_of(config, "gelu_pytorch_tanh");
  const std::int64_t window = config.size("sliding_window", 0);
  set_windows(d, config, draft, window, [&](std::int64_t) { return window > 0; });
  build(d, draft);
}

void read_stablelm(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft,
                           {.hidden = 2560,
                            .layers = 32,
                            .heads = 32,
                            .kv_heads = 32,
                            .intermediate = 6912,
                            .vocabulary = 50304});
  set_bias(d, config.flag("use_qkv_bias", false), false);
  d.norm_width = 2;
  d.norms = config.flag("use_parallel_residual", false) ? 1 : 2;
  if (config.flag("qk_layernorm", false)) add_wide_norms(d);
  build(d, draft);
}

void read_nemotron(const Config& config, Draft& draft) {
  Decoder d = read_decoder(
      config, draft, {.hidden = 6144, .heads = 48, .intermediate = 24576, .vocabulary = 256000});
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  d.mlp_bias = config.flag("mlp_bias", false);
  d.gated = false;
  d.norm_width = 2;
  d.activation = activation_of(config, "relu2");
  build(d, draft);
}

} // namespace breakeven::model
