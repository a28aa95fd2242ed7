// Gemma 3n and Gemma 4: layers that reuse an earlier layer's cache, two head sizes, per-layer
// inputs. Defaults and shapes: transformers' gemma3n and gemma4.
#include "model/families/families.hpp"

namespace breakeven::model {
namespace {

/// Layers from the returned index on attend to the cache of an earlier layer.
std::int64_t first_shared(const Config& config, std::int64_t layers, std::int64_t definition) {
  const std::int64_t shared = config.size("num_kv_shared_layers", definition);
  if (shared > layers) config.refuse("num_kv_shared_layers is larger than the number of layers");
  return layers - shared;
}

void add_per_layer_input(LayerBuilder& layer, std::int64_t width) {
  if (width == 0) return;
  layer.gemm("per_layer_gate", layer.hidden(), width);
  layer.gemm("per_layer_projection", width, layer.hidden());
  layer.parameters(layer.hidden());
}

void add_per_layer_table(const Config& config, Draft& draft, const Decoder& d, std::int64_t width) {
  if (width == 0) return;
  const std::int64_t all = times(width, d.layers);
  draft.parameters(times(config.count("vocab_size_per_layer_input", 262144), all));
  draft.parameters(plus(times(d.hidden, all), width));
}

/// One attention layer, its head norms included.
void add_gemma_attention(LayerBuilder& layer, AttentionSpec spec, bool values) {
  spec.qk_norm = true;
  layer.attention(spec, 1, values);
  layer.parameters(times(spec.kv_shared ? 1 : 2, spec.qk_head_dim));
}

std::vector<std::int64_t> widths(const Config& config, const Decoder& d, std::int64_t definition) {
  const nlohmann::json* value = config.find("intermediate_size");
  if (value != nullptr && value->is_array())
    return number_list(config, "intermediate_size", d.layers);
  return std::vector<std::int64_t>(static_cast<std::size_t>(d.layers),
                                   config.count("intermediate_size", definition));
}

} // namespace

void read_gemma3n(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft,
                           {.hidden = 2048,
                            .layers = 35,
                            .heads = 8,
                            .kv_heads = 2,
                            .intermediate = 0,
                            .vocabulary = 262400,
                            .head_dim = 256,
                            .tied = true});
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  set_windows(d, config, draft, config.count("sliding_window", 512),
              [](std::int64_t i) { return (i + 1) % 5 != 0; });
  const std::int64_t inputs = config.count("altup_num_inputs", 4);
  const std::int64_t laurel = config.count("laurel_rank", 64);
  const std::int64_t width = config.size("hidden_size_per_layer_input", 256);
  const std::int64_t shared = first_shared(config, d.layers, 15);
  const std::vector<std::int64_t> mlp = widths(config, d, 16384);
  for (std::int64_t i = 0; i < d.layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    LayerBuilder layer = draft.layer();
    // AltUp: four hidden states, mixed by small matrices from a router.
    layer.gemm("altup_router", d.hidden, inputs);
    layer.gemm("altup_predict", inputs, times(inputs, inputs));
    layer.gemm("altup_correct", inputs, inputs);
    layer.parameters(times(2, d.hidden));
    layer.gemm("laurel_left", d.hidden, laurel);
    layer.gemm("laurel_right", laurel, d.hidden);
    layer.parameters(d.hidden);
    AttentionSpec spec = d.attention;
    spec.kv_shared = i >= shared;
    if (!d.windows.empty() && d.windows[at] > 0) {
      spec.kind = AttentionKind::sliding_window;
      spec.window_tokens = d.windows[at];
    }
    add_gemma_attention(layer, spec, true);
    layer.mlp(mlp[at], true, false, Activation::gelu);
    layer.parameters(times(4, d.hidden));
    add_per_layer_input(layer, width);
    draft.add(layer);
  }
  add_ends(d, draft);
  add_per_layer_table(config, draft, d, width);
  draft.parameters(times(times(2, inputs - 1), times(d.hidden, d.hidden)));
}

void read_gemma4(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 2304,
                          .layers = 30,
                          .heads = 8,
                          .kv_heads = 4,
                          .intermediate = 9216,
                          .vocabulary = 262144,
                          .head_dim = 256,
                          .tied = true};
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  set_windows(d, config, draft, config.count("sliding_window", 512),
              [](std::int64_t i) { return (i + 1) % 6 != 0; });
  if (!d.windows.empty()) d.windows.back() = 0; // the last layer is always global
  const bool keys_are_values = config.flag("attention_k_eq_v", false);
  const bool sparse = config.flag("enable_moe_block", false);
  if (sparse) {
    read_experts(d, config, draft, defaults);
    d.moe.activation = Activation::gelu;
  }
  const std::int64_t width = config.size("hidden_size_per_layer_input", 256);
  const std::int64_t shared = first_shared(config, d.layers, 0);
  const bool wide = config.flag("use_double_wide_mlp", false);
  for (std::int64_t i = 0; i < d.layers; ++i) {
    LayerBuilder layer = draft.layer();
    AttentionSpec spec = d.attention;
    spec.kv_shared = i >= shared;
    const std::int64_t window = d.windows.empty() ? 0 : d.windows[static_cast<std::size_t>(i)];
    if (window > 0) {
      spec.kind = AttentionKind::sliding_window;
      spec.window_tokens = window;
    } else {
      spec.qk_head_dim = spec.v_head_dim = config.count("global_head_dim", 512);
      if (keys_are_values) spec.kv_heads = config.count("num_global_key_value_heads", d.kv_heads);
    }
    add_gemma_attention(layer, spec, window > 0 || !keys_are_values);
    layer.mlp(times(d.intermediate, wide && spec.kv_shared ? 2 : 1), true, false, Activation::gelu);
    layer.parameters(times(4, d.hidden));
    if (sparse) {
      layer.moe(d.moe);
      layer.parameters(plus(times(4, d.hidden), d.moe.experts)); // 3 norms, the router's scales
    }
    add_per_layer_input(layer, width);
    draft.add(layer);
  }
  add_ends(d, draft);
  add_per_layer_table(config, draft, d, width);
}

} // namespace breakeven::model
