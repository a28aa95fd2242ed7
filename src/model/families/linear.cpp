// Linear-attention hybrids: MiniMax-01 and M1 (lightning), Kimi Linear (KDA + latent attention),
// Ling/Ring linear. Shapes: transformers' minimax, kimi_linear, bailing_hybrid; M1 and Ring by
// their own modeling files.
#include "model/families/mla.hpp"

#include "support/text.hpp"

#include <algorithm>

namespace breakeven::model {
namespace {

DeltaShape kda_shape(const Draft& draft) {
  DeltaShape shape;
  shape.conv_dtype = draft.model().activation_dtype;
  shape.state_dtype = DType::fp32; // as engines keep it
  return shape;
}

} // namespace

void read_minimax(const Config& config, Draft& draft) {
  const Defaults defaults{
      .kv_heads = 8, .intermediate = 14336, .experts = 8, .experts_per_token = 2};
  Decoder d = read_decoder(config, draft, defaults);
  read_experts(d, config, draft, defaults);
  d.moe.intermediate = d.intermediate;
  if (config.size("shared_intermediate_size", 0) > 0)
    d.moe.shared_intermediate = config.size("shared_intermediate_size", 0);
  std::vector<std::int64_t> full; // 1 = softmax attention
  if (config.has("layer_types")) {
    for (const std::string& type : layer_list(config, "layer_types", d.layers))
      full.push_back(type == "linear_attention" ? 0 : 1);
  } else if (config.has("attn_type_list")) {
    full = number_list(config, "attn_type_list", d.layers);
  } else {
    config.refuse_missing("attn_type_list|layer_types");
  }
  for (std::int64_t i = 0; i < d.layers; ++i) {
    LayerBuilder layer = draft.layer();
    if (full[static_cast<std::size_t>(i)] != 0) {
      add_attention(d, i, layer);
    } else {
      layer.lightning(d.heads, d.head_dim, DType::fp32);
      layer.parameters(times(d.heads, d.head_dim)); // norm
    }
    layer.moe(d.moe);
    layer.parameters(times(2, d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
}

void read_kimi_linear(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 2304,
                          .layers = 27,
                          .heads = 32,
                          .intermediate = 9216,
                          .vocabulary = 163840,
                          .experts = 256,
                          .experts_per_token = 8,
                          .moe_intermediate = 1024};
  Decoder d = read_mla_decoder(config, draft, defaults, {0, 512, 128, 64, 128});
  d.attention.rope = !config.flag("mla_use_nope", true);
  read_experts(d, config, draft, defaults);
  d.moe.shared_intermediate =
      times(config.size("num_shared_experts|n_shared_experts", 1), d.moe.intermediate);
  d.moe.router_bias = true;
  set_sparse_after(d, config, 1);
  DeltaShape shape = kda_shape(draft);
  shape.value_heads = config.count("linear_num_heads", 32);
  shape.value_dim = shape.key_dim = config.count("linear_head_dim", 128);
  shape.kernel = config.count("linear_conv_kernel_dim", 4);
  std::vector<char> attends(static_cast<std::size_t>(d.layers), 0);
  const auto linear = config.object("linear_attn_config");
  if (linear) {
    shape.value_heads = linear->count("num_heads", shape.value_heads);
    shape.value_dim = shape.key_dim = linear->count("head_dim", shape.value_dim);
    shape.kernel = linear->count("short_conv_kernel_size", shape.kernel);
  }
  shape.gate_rank = shape.value_dim;
  if (config.has("layer_types")) {
    const auto types = layer_list(config, "layer_types", d.layers);
    for (std::size_t i = 0; i < types.size(); ++i)
      attends[i] = types[i] == "linear_attention" ? 0 : 1;
  } else if (linear && linear->has("full_attn_layers")) {
    // The lists count from 1; entries past the last layer belong to draft layers.
    for (const std::int64_t layer : linear->numbers("full_attn_layers")) {
      if (layer == 0) config.refuse("'full_attn_layers' counts from 1 but holds a 0");
      if (layer <= d.layers) attends[static_cast<std::size_t>(layer - 1)] = 1;
    }
  } else {
    config.refuse_missing("layer_types|linear_attn_config.full_attn_layers");
  }
  for (std::int64_t i = 0; i < d.layers; ++i) {
    if (attends[static_cast<std::size_t>(i)] != 0) {
      add_mla_layer(d, i, draft, true);
      continue;
    }
    LayerBuilder layer = draft.layer();
    layer.kimi_delta(shape);
    add_mlp(d, i, layer);
    layer.parameters(times(2, d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
}

void read_bailing_linear(const Config& config, Draft& draft) {
  Defaults defaults{.layers = 32,
                    .vocabulary = 157184,
                    .experts = 256,
                    .experts_per_token = 8,
                    .moe_intermediate = 512};
  // Ling 2.5 and later: KDA + latent attention.
  const bool latent =
      config.has("kv_lora_rank") || config.text("model_type", "") == "bailing_hybrid";
  if (latent) {
    defaults.hidden = 2560;
    defaults.layers = 42;
    defaults.intermediate = 6144;
    defaults.experts = 512;
    defaults.moe_intermediate = 768;
  }
  Decoder d = latent ? read_mla_decoder(config, draft, defaults, {0, 512, 128, 64, 128})
                     : read_decoder(config, draft, defaults);
  if (!latent && config.flag("use_qk_norm", false)) add_head_norms(d);
  read_experts(d, config, draft, defaults);
  d.moe.shared_intermediate =
      times(config.size("num_shared_experts|n_shared_experts", 1), d.moe.intermediate);
  d.moe.router_bias = config.flag("moe_router_enable_expert_bias", true);
  set_sparse_after(d, config, latent ? 2 : 0);
  std::vector<std::string> types;
  if (config.has("layer_types")) types = layer_list(config, "layer_types", d.layers);
  const std::int64_t group = types.empty() ? draft.core("layer_group_size|layer_types", 6) : 1;
  const std::int64_t head_dim = config.count("head_dim", latent ? 128 : d.hidden / d.heads);
  DeltaShape shape = kda_shape(draft);
  shape.value_heads = d.heads;
  shape.value_dim = shape.key_dim = head_dim;
  shape.kernel = config.count("short_conv_kernel_size", 4);
  for (std::int64_t i = 0; i < d.layers; ++i) {
    const bool linear = !types.empty() ? types[static_cast<std::size_t>(i)] == "linear_attention"
                                       : (i + 1) % group != 0 && i < d.layers / group * group;
    LayerBuilder layer = draft.layer();
    if (linear && latent)
      layer.kimi_delta(shape);
    else if (linear)
      layer.lightning(d.heads, head_dim, DType::fp32);
    else if (latent)
      layer.mla(d.attention);
    else
      add_attention(d, i, layer);
    if (latent && !linear)
      layer.gemm("attention_gate", d.hidden, layer.ranks().split(d.heads, "attention heads"));
    add_mlp(d, i, layer);
    layer.parameters(times(2, d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
  if (!latent) draft.parameters_uncertain(); // its group norms are not in a published definition
}

} // namespace breakeven::model
