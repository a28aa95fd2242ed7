// Granite 3 and 4. Defaults and shapes: transformers' granite, granitemoe(shared),
// granitemoehybrid.
#include "model/families/families.hpp"
#include "model/families/mamba_keys.hpp"

namespace breakeven::model {
namespace {

Decoder read_common(const Config& config, Draft& draft, const Defaults& defaults) {
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  return d;
}

} // namespace

void read_granite(const Config& config, Draft& draft) {
  Decoder d = read_common(config, draft, {});
  d.mlp_bias = config.flag("mlp_bias", false);
  build(d, draft);
}

void read_granitemoe(const Config& config, Draft& draft) {
  const Defaults defaults{.experts = 8, .experts_per_token = 2};
  Decoder d = read_common(config, draft, defaults);
  read_experts(d, config, draft, defaults);
  d.moe.intermediate = d.intermediate;
  d.moe.shared_intermediate = config.size("shared_intermediate_size", 0);
  set_sparse(d, config, [](std::int64_t) { return true; });
  build(d, draft);
}

void read_granitemoehybrid(const Config& config, Draft& draft) {
  const Defaults defaults{.experts = 8, .experts_per_token = 2};
  if (!config.has("layer_types|layers_block_type"))
    config.refuse_missing("layer_types|layers_block_type");
  Decoder d = read_common(config, draft, defaults);
  const char* key = config.has("layer_types") ? "layer_types" : "layers_block_type";
  const std::vector<std::string> types = layer_list(config, key, d.layers);
  const bool sparse = config.size("num_local_experts", 8) > 0;
  const std::int64_t shared = config.size("shared_intermediate_size", 1024);
  if (sparse) {
    read_experts(d, config, draft, defaults);
    d.moe.intermediate = d.intermediate;
    d.moe.shared_intermediate = shared;
  }
  for (std::int64_t i = 0; i < d.layers; ++i) {
    LayerBuilder layer = draft.layer();
    const std::string& type = types[static_cast<std::size_t>(i)];
    if (type == "mamba" || type == "linear_attention")
      layer.mamba2(mamba2_shape(config, draft, d.hidden, {128, 1, 256}), true);
    else if (is_windowed_type(config, type))
      config.refuse("windowed layers are not known for this model_type");
    else
      add_attention(d, i, layer);
    if (sparse)
      layer.moe(d.moe);
    else
      layer.mlp(shared, true, false, d.activation);
    layer.parameters(times(2, d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
}

} // namespace breakeven::model
