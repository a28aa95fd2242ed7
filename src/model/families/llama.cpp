// Llama, Mistral, Mixtral, Llama 4, Arctic. Defaults: transformers' configuration_*.py of each
// model_type.
#include "model/families/families.hpp"

namespace breakeven::model {
namespace {

Decoder read_biased(const Config& config, Draft& draft, const Defaults& defaults) {
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  d.mlp_bias = config.flag("mlp_bias", false);
  return d;
}

/// A null switches the window off; only an absent key has the library's default.
std::int64_t mistral_window(const Config& config, Draft& draft) {
  return config.contains("sliding_window") ? config.size("sliding_window", 0)
                                           : draft.library("sliding_window", 4096);
}

} // namespace

void read_llama(const Config& config, Draft& draft) {
  build(read_biased(config, draft, {}), draft);
}

void read_mistral(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft, {.kv_heads = 8, .intermediate = 14336});
  const std::int64_t window = mistral_window(config, draft);
  set_windows(d, config, draft, window, [&](std::int64_t) { return window > 0; });
  build(d, draft);
}

void read_ministral(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft, {.kv_heads = 8, .intermediate = 14336});
  const std::int64_t window = mistral_window(config, draft);
  set_windows(d, config, draft, window, [&](std::int64_t) { return window > 0; });
  build(d, draft);
}

void read_ministral3(const Config& config, Draft& draft) {
  Decoder d = read_decoder(
      config, draft,
      {.layers = 34, .kv_heads = 8, .intermediate = 14336, .vocabulary = 131072, .head_dim = 128});
  const std::int64_t window = config.size("sliding_window", 0);
  set_windows(d, config, draft, window, [&](std::int64_t) { return window > 0; });
  build(d, draft);
}

void read_cwm(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft,
                           {.hidden = 6144,
                            .layers = 64,
                            .heads = 48,
                            .kv_heads = 8,
                            .intermediate = 21504,
                            .vocabulary = 128256,
                            .head_dim = 128});
  d.mlp_bias = config.flag("mlp_bias", false);
  set_windows(d, config, draft, config.count("sliding_window", 8192),
              [](std::int64_t i) { return i % 4 != 0; });
  build(d, draft);
}

void read_mixtral(const Config& config, Draft& draft) {
  const Defaults defaults{
      .kv_heads = 8, .intermediate = 14336, .experts = 8, .experts_per_token = 2};
  Decoder d = read_decoder(config, draft, defaults);
  const std::int64_t window = config.size("sliding_window", 0);
  set_windows(d, config, draft, window, [&](std::int64_t) { return window > 0; });
  read_experts(d, config, draft, defaults);
  d.moe.intermediate = d.intermediate;
  set_sparse(d, config, [](std::int64_t) { return true; });
  build(d, draft);
}

void read_llama4(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 5120,
                          .layers = 48,
                          .heads = 40,
                          .kv_heads = 8,
                          .intermediate = 8192,
                          .vocabulary = 202048,
                          .head_dim = 128,
                          .experts = 16,
                          .experts_per_token = 1};
  Decoder d = read_biased(config, draft, defaults);
  d.attention.qk_norm = config.flag("use_qk_norm", true); // without weights
  d.windowed_kind = AttentionKind::chunked;
  // Every fourth layer is global and has no RoPE, unless `no_rope_layers` (1 = RoPE) says which.
  std::vector<std::int64_t> rope = config.numbers("no_rope_layers");
  if (!rope.empty()) rope = number_list(config, "no_rope_layers", d.layers);
  const std::int64_t every = config.count("no_rope_layer_interval", 4);
  const std::int64_t chunk = config.contains("attention_chunk_size")
                                 ? config.size("attention_chunk_size", 0)
                                 : draft.library("attention_chunk_size", 8192);
  if (chunk > 0)
    set_windows(d, config, draft, chunk, [&](std::int64_t i) {
      return rope.empty() ? (i + 1) % every != 0 : rope[static_cast<std::size_t>(i)] != 0;
    });
  read_experts(d, config, draft, defaults);
  d.moe.intermediate = d.moe.shared_intermediate = d.intermediate;
  const std::int64_t step = config.count("interleave_moe_layer_step", 1);
  const std::vector<std::int64_t> listed = config.numbers("moe_layers");
  set_sparse(d, config, [&](std::int64_t i) {
    if (listed.empty()) return (i + 1) % step == 0;
    return std::find(listed.begin(), listed.end(), i) != listed.end();
  });
  d.intermediate = config.count("intermediate_size_mlp", 16384);
  build(d, draft);
}

void read_arctic(const Config& config, Draft& draft) {
  // Snowflake Arctic: a dense MLP in each layer, and experts beside it in every
  // `moe_layer_frequency`-th (its own configuration_arctic.py).
  const Defaults defaults{.vocabulary = 32000, .experts = 8, .experts_per_token = 1};
  Decoder d = read_decoder(config, draft, defaults);
  read_experts(d, config, draft, defaults);
  d.moe.intermediate = d.intermediate;
  const std::int64_t every = config.count("moe_layer_frequency", 2);
  const bool residual = config.flag("use_residual|parallel_attn_mlp_res", false);
  for (std::int64_t i = 0; i < d.layers; ++i) {
    LayerBuilder layer = draft.layer();
    add_attention(d, i, layer);
    const bool sparse = (i + 1) % every == 0;
    if (!sparse || residual) {
      // Beside experts the dense MLP is as wide as the hidden state.
      const std::int64_t width = sparse ? d.hidden : d.intermediate;
      layer.mlp(width, true, false, d.activation);
    }
    if (sparse) layer.moe(d.moe);
    layer.parameters(times(sparse && residual ? 3 : 2, d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
}

} // namespace breakeven::model
