// Gated DeltaNet hybrids: Qwen3-Next, Qwen3.5, OLMo hybrid. Defaults: transformers'
// configuration_*.py; shapes: modeling_qwen3_next.py, modeling_olmo_hybrid.py.
#include "model/families/families.hpp"

#include <algorithm>

namespace breakeven::model {
namespace {

DeltaShape delta_shape(const Config& config, const Draft& draft) {
  DeltaShape shape;
  shape.key_heads = config.count("linear_num_key_heads", 16);
  shape.value_heads = config.count("linear_num_value_heads", 32);
  shape.key_dim = config.count("linear_key_head_dim", 128);
  shape.value_dim = config.count("linear_value_head_dim", 128);
  shape.kernel = config.count("linear_conv_kernel_dim", 4);
  shape.conv_dtype = draft.model().activation_dtype;
  shape.state_dtype = draft.state_dtype();
  return shape;
}

std::vector<std::string> hybrid_types(const Config& config, std::int64_t layers) {
  if (config.has("layer_types")) return layer_list(config, "layer_types", layers);
  const std::int64_t every = config.count("full_attention_interval", 4);
  std::vector<std::string> types;
  for (std::int64_t i = 0; i < layers; ++i)
    types.emplace_back((i + 1) % every == 0 ? "full_attention" : "linear_attention");
  return types;
}

void build_delta(Decoder& d, const Config& config, Draft& draft, const DeltaShape& shape) {
  const std::vector<std::string> types = hybrid_types(config, d.layers);
  for (std::int64_t i = 0; i < d.layers; ++i) {
    LayerBuilder layer = draft.layer();
    const std::string& type = types[static_cast<std::size_t>(i)];
    if (type == "linear_attention")
      layer.gated_delta_net(shape);
    else if (is_windowed_type(config, type))
      config.refuse("windowed layers are not known for this model_type");
    else
      add_attention(d, i, layer);
    add_mlp(d, i, layer);
    layer.parameters(times(d.norms, d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
}

Decoder read_gated(const Config& config, Draft& draft, const Defaults& defaults) {
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  add_head_norms(d);
  d.query_outputs = config.flag("attn_output_gate", true) ? 2 : 1;
  return d;
}

void read_shared_experts(Decoder& d, const Config& config, Draft& draft, const Defaults& defaults) {
  read_experts(d, config, draft, defaults);
  d.moe.shared_intermediate = config.size("shared_expert_intermediate_size", 512);
  d.moe.shared_gate = true;
}

} // namespace

void read_qwen3_next(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 2048,
                          .layers = 48,
                          .heads = 16,
                          .kv_heads = 2,
                          .intermediate = 5632,
                          .vocabulary = 151936,
                          .head_dim = 256,
                          .experts = 512,
                          .experts_per_token = 10,
                          .moe_intermediate = 512};
  Decoder d = read_gated(config, draft, defaults);
  read_shared_experts(d, config, draft, defaults);
  const std::vector<std::int64_t> dense = config.numbers("mlp_only_layers");
  const std::int64_t step = config.count("decoder_sparse_step", 1);
  set_sparse(d, config, [&](std::int64_t i) {
    return (i + 1) % step == 0 && std::find(dense.begin(), dense.end(), i) == dense.end();
  });
  build_delta(d, config, draft, delta_shape(config, draft));
}

void read_qwen3_5(const Config& config, Draft& draft) {
  Decoder d = read_gated(
      config, draft,
      {.heads = 16, .kv_heads = 4, .intermediate = 12288, .vocabulary = 248320, .head_dim = 256});
  build_delta(d, config, draft, delta_shape(config, draft));
}

void read_qwen3_5_moe(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 2048,
                          .layers = 40,
                          .heads = 16,
                          .kv_heads = 2,
                          .intermediate = 0,
                          .vocabulary = 248320,
                          .head_dim = 256,
                          .experts = 256,
                          .experts_per_token = 8,
                          .moe_intermediate = 512};
  Decoder d = read_gated(config, draft, defaults);
  read_shared_experts(d, config, draft, defaults);
  set_sparse(d, config, [](std::int64_t) { return true; });
  build_delta(d, config, draft, delta_shape(config, draft));
}

void read_olmo_hybrid(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft,
                           {.hidden = 3840, .layers = 32, .heads = 30, .vocabulary = 100352});
  add_wide_norms(d);
  DeltaShape shape = delta_shape(config, draft);
  shape.key_heads = config.count("linear_num_key_heads", d.heads);
  shape.value_heads = config.count("linear_num_value_heads", d.heads);
  shape.key_dim = config.count("linear_key_head_dim", 3 * d.hidden / (4 * shape.key_heads));
  shape.value_dim = config.count("linear_value_head_dim", 2 * shape.key_dim);
  build_delta(d, config, draft, shape);
}

} // namespace breakeven::model
