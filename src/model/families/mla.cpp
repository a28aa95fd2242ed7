#include "model/families/mla.hpp"

namespace breakeven::model {

void set_mla(Decoder& decoder, const Config& config, Draft& draft, const MlaDefaults& mla) {
  AttentionSpec spec;
  spec.kind = AttentionKind::mla;
  spec.heads = spec.kv_heads = decoder.heads;
  // A null q_lora_rank means that queries are projected directly.
  spec.q_lora_rank =
      config.size("q_lora_rank", config.contains("q_lora_rank") ? 0 : mla.q_lora_rank);
  spec.kv_lora_rank = draft.core("kv_lora_rank", mla.kv_lora_rank);
  spec.qk_nope_head_dim = config.count("qk_nope_head_dim", mla.qk_nope_head_dim);
  spec.qk_rope_head_dim = config.count("qk_rope_head_dim", mla.qk_rope_head_dim);
  spec.v_head_dim = config.count("v_head_dim", mla.v_head_dim);
  spec.qk_head_dim = plus(spec.qk_nope_head_dim, spec.qk_rope_head_dim);
  spec.q_bias = spec.k_bias = spec.o_bias = config.flag("attention_bias", false);
  decoder.attention = spec;
}

Decoder read_mla_decoder(const Config& config, Draft& draft, const Defaults& defaults,
                         const MlaDefaults& mla) {
  Decoder d;
  d.hidden = draft.core("hidden_size", defaults.hidden);
  draft.hidden(d.hidden);
  d.layers = draft.layer_count("num_hidden_layers", defaults.layers);
  d.heads = draft.core("num_attention_heads", defaults.heads);
  // Files of all-expert models may have no dense width.
  d.intermediate = config.count("intermediate_size", defaults.intermediate);
  d.vocabulary = draft.core("vocab_size", defaults.vocabulary);
  d.tied = draft.tied(defaults.tied);
  draft.max_position(config.size("max_position_embeddings|model_max_length", 0));
  d.activation = activation_of(config, "silu");
  set_mla(d, config, draft, mla);
  return d;
}

void add_mla_layer(const Decoder& d, std::int64_t index, Draft& draft, bool indexed) {
  LayerBuilder layer = draft.layer();
  AttentionSpec spec = d.attention;
  if (!indexed) spec.index_heads = spec.index_head_dim = 0; // reuses an earlier layer's choice
  layer.mla(spec);
  layer.parameters(d.extra_parameters);
  add_mlp(d, index, layer);
  layer.parameters(times(d.norms, d.hidden));
  draft.add(layer);
}

void build_mla(const Decoder& d, Draft& draft) {
  for (std::int64_t i = 0; i < d.layers; ++i)
    add_mla_layer(d, i, draft, true);
  add_ends(d, draft);
}

} // namespace breakeven::model
