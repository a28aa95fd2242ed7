// Zamba 1 and 2: Mamba layers, and one attention block (or a few) whose weights several layers
// share, each with a cache of its own. Shapes: transformers' zamba and zamba2.
#include "model/families/mamba_keys.hpp"

namespace breakeven::model {
namespace {

/// The shared block sees the hidden state beside the embedding: twice as wide.
AttentionSpec shared_attention(const Config& config, std::int64_t hidden,
                               std::int64_t kv_definition) {
  AttentionSpec spec;
  spec.kind = AttentionKind::full;
  spec.heads = config.count("num_attention_heads");
  spec.kv_heads =
      config.count("num_key_value_heads", kv_definition == 0 ? spec.heads : kv_definition);
  if (spec.heads % spec.kv_heads != 0)
    config.refuse("num_key_value_heads does not divide num_attention_heads");
  if (!config.has("attention_head_dim") && (2 * hidden) % spec.heads != 0)
    config.refuse("2 x hidden_size is not a multiple of num_attention_heads");
  spec.qk_head_dim = spec.v_head_dim = config.count("attention_head_dim", 2 * hidden / spec.heads);
  return spec;
}

void add_shared_block(LayerBuilder& layer, AttentionSpec spec, std::int64_t intermediate) {
  const Ranks ranks = layer.ranks();
  const std::int64_t wide = times(2, layer.hidden());
  const std::int64_t heads = ranks.split(spec.heads, "attention heads");
  const std::int64_t kv_heads = ranks.split_or_replicate(spec.kv_heads, "KV heads");
  const std::int64_t width = ranks.split(intermediate, "MLP channels");
  spec.heads = heads;
  spec.kv_heads = kv_heads;
  layer.attention_with_input(spec, wide);
  layer.gemm("gate_up", layer.hidden(), times(2, width));
  layer.gemm("down", width, layer.hidden());
  layer.gemm("shared_block_out", layer.hidden(), layer.hidden());
}

void build_zamba(const Config& config, Draft& draft, const MambaShape& shape, bool second) {
  Decoder d;
  d.hidden = draft.model().hidden;
  d.layers = draft.layer_count("num_hidden_layers", second ? 54 : 76);
  d.vocabulary = draft.core("vocab_size", 32000);
  d.tied = draft.tied(true);
  draft.max_position(config.size("max_position_embeddings", 0));
  const AttentionSpec spec = shared_attention(config, d.hidden, 0);
  const std::int64_t intermediate =
      config.count("intermediate_size|ffn_hidden_size", times(4, d.hidden));
  if (!config.has("layers_block_type")) config.refuse_missing("layers_block_type");
  const std::vector<std::string> types = layer_list(config, "layers_block_type", d.layers);
  for (const std::string& type : types) {
    LayerBuilder layer = draft.layer();
    if (type == "hybrid")
      add_shared_block(layer, spec, intermediate);
    else if (type != "mamba" && type != "linear_attention")
      config.refuse("'layers_block_type' holds a kind other than mamba and hybrid");
    if (second)
      layer.mamba2(shape, true);
    else
      layer.mamba1(shape, 0);
    layer.parameters(d.hidden);
    draft.add(layer);
  }
  add_ends(d, draft);
  draft.parameters_uncertain(); // shared blocks and their adapters
}

} // namespace

void read_zamba(const Config& config, Draft& draft) {
  draft.hidden(draft.core("hidden_size", 3712));
  build_zamba(config, draft, mamba1_shape(config, draft, draft.model().hidden), false);
}

void read_zamba2(const Config& config, Draft& draft) {
  draft.hidden(draft.core("hidden_size", 2560));
  MambaShape shape;
  shape.inner = times(config.count("mamba_expand", 2), draft.model().hidden);
  shape.heads = config.count("n_mamba_heads", 8);
  if (shape.inner % shape.heads != 0)
    config.refuse("n_mamba_heads does not divide the inner width");
  shape.groups = config.count("mamba_ngroups", 1);
  shape.state = config.count("mamba_d_state", 64);
  shape.kernel = config.count("mamba_d_conv", 4);
  shape.conv_bias = config.flag("use_conv_bias", true);
  shape.projection_bias = config.flag("add_bias_linear", false);
  shape.conv_dtype = draft.model().activation_dtype;
  shape.state_dtype = draft.state_dtype();
  build_zamba(config, draft, shape, true);
}

} // namespace breakeven::model
