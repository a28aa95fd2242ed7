// Mamba 1 and 2, Falcon Mamba, Jamba, Bamba, Falcon-H1. Defaults and shapes: transformers' models
// of these names.
#include "model/families/mamba_keys.hpp"

#include <algorithm>

namespace breakeven::model {

std::int64_t count_or_auto(const Config& config, const char* key, std::int64_t automatic) {
  const nlohmann::json* value = config.find(key);
  if (value != nullptr && value->is_string() && value->get<std::string>() == "auto")
    return automatic;
  return config.count(key, automatic);
}

MambaShape mamba2_shape(const Config& config, const Draft& draft, std::int64_t hidden,
                        const Mamba2Defaults& defaults) {
  MambaShape shape;
  shape.heads = config.count("mamba_n_heads", defaults.heads);
  // A null mamba_d_ssm (Falcon-H1) means that the width follows from mamba_expand.
  const std::int64_t expanded = times(config.count("mamba_expand", 2), hidden);
  const bool absent = defaults.inner > 0 && !config.contains("mamba_d_ssm");
  shape.inner = absent ? defaults.inner : config.count("mamba_d_ssm", expanded);
  const std::int64_t head_dim = count_or_auto(config, "mamba_d_head", shape.inner / shape.heads);
  if (times(head_dim, shape.heads) != shape.inner)
    config.refuse("mamba_n_heads x mamba_d_head is " + std::to_string(head_dim * shape.heads) +
                  ", not the inner width " + std::to_string(shape.inner));
  shape.groups = config.count("mamba_n_groups", defaults.groups);
  shape.state = config.count("mamba_d_state", defaults.state);
  shape.kernel = config.count("mamba_d_conv", 4);
  shape.conv_bias = config.flag("mamba_conv_bias", true);
  shape.projection_bias = config.flag("mamba_proj_bias", false);
  shape.conv_dtype = draft.model().activation_dtype;
  shape.state_dtype = draft.state_dtype();
  return shape;
}

MambaShape mamba1_shape(const Config& config, const Draft& draft, std::int64_t hidden) {
  MambaShape shape;
  shape.inner = times(config.count("mamba_expand", 2), hidden);
  shape.state = config.count("mamba_d_state", 16);
  shape.kernel = config.count("mamba_d_conv", 4);
  shape.time_step_rank = count_or_auto(config, "mamba_dt_rank", (hidden + 15) / 16);
  shape.conv_bias = config.flag("mamba_conv_bias", true);
  shape.projection_bias = config.flag("mamba_proj_bias", false);
  shape.conv_dtype = draft.model().activation_dtype;
  shape.state_dtype = draft.state_dtype();
  return shape;
}

namespace {

Decoder read_attentionless(const Config& config, Draft& draft, const Defaults& defaults) {
  Decoder d;
  d.hidden = draft.core("hidden_size|d_model", defaults.hidden);
  draft.hidden(d.hidden);
  d.layers = draft.layer_count("num_hidden_layers|n_layer", defaults.layers);
  d.vocabulary = draft.core("vocab_size", defaults.vocabulary);
  d.tied = draft.tied(defaults.tied);
  draft.max_position(config.size("max_position_embeddings", 0));
  return d;
}

MambaShape plain_shape(const Config& config, const Draft& draft, const Decoder& d) {
  MambaShape shape;
  // Falcon Mamba's `expand` is not what its weights have; intermediate_size is.
  shape.inner =
      config.count("intermediate_size|d_inner", times(config.count("expand", 2), d.hidden));
  shape.kernel = config.count("conv_kernel", 4);
  shape.conv_bias = config.flag("use_conv_bias", true);
  shape.projection_bias = config.flag("use_bias", false);
  shape.conv_dtype = draft.model().activation_dtype;
  shape.state_dtype = draft.state_dtype();
  return shape;
}

} // namespace

void read_mamba(const Config& config, Draft& draft) {
  const Decoder d =
      read_attentionless(config, draft, {.hidden = 768, .vocabulary = 50280, .tied = true});
  MambaShape shape = plain_shape(config, draft, d);
  shape.state = config.count("state_size", 16);
  shape.time_step_rank = count_or_auto(config, "time_step_rank", (d.hidden + 15) / 16);
  for (std::int64_t i = 0; i < d.layers; ++i) {
    LayerBuilder layer = draft.layer();
    layer.mamba1(shape, 0);
    layer.parameters(d.hidden);
    draft.add(layer);
  }
  add_ends(d, draft);
}

/// Its extra norms of the time step, B and C have no weights.
void read_falcon_mamba(const Config& config, Draft& draft) {
  read_mamba(config, draft);
}

void read_mamba2(const Config& config, Draft& draft) {
  const Decoder d = read_attentionless(config, draft, {.layers = 64, .vocabulary = 32768});
  MambaShape shape = plain_shape(config, draft, d);
  shape.heads = config.count("num_heads", 128);
  shape.groups = config.count("n_groups", 8);
  shape.state = config.count("state_size", 128);
  if (times(shape.heads, config.count("head_dim", 64)) != shape.inner)
    config.refuse("num_heads x head_dim is not expand x hidden_size");
  for (std::int64_t i = 0; i < d.layers; ++i) {
    LayerBuilder layer = draft.layer();
    layer.mamba2(shape, true);
    layer.parameters(d.hidden);
    draft.add(layer);
  }
  add_ends(d, draft);
}

void read_jamba(const Config& config, Draft& draft) {
  const Defaults defaults{.kv_heads = 8,
                          .intermediate = 14336,
                          .vocabulary = 65536,
                          .experts = 16,
                          .experts_per_token = 2};
  Decoder d = read_decoder(config, draft, defaults);
  const std::int64_t window = config.size("sliding_window", 0);
  set_windows(d, config, draft, window, [&](std::int64_t) { return window > 0; });
  const MambaShape shape = mamba1_shape(config, draft, d.hidden);
  const std::int64_t period = config.count("attn_layer_period", 8);
  const std::int64_t offset = config.size("attn_layer_offset", 4);
  const std::int64_t expert_period = config.count("expert_layer_period", 2);
  const std::int64_t expert_offset = config.size("expert_layer_offset", 1);
  if (config.size("num_experts", 16) > 1) {
    read_experts(d, config, draft, defaults);
    d.moe.intermediate = d.intermediate;
    set_sparse(d, config, [&](std::int64_t i) { return i % expert_period == expert_offset; });
  }
  for (std::int64_t i = 0; i < d.layers; ++i) {
    LayerBuilder layer = draft.layer();
    if (i % period == offset)
      add_attention(d, i, layer);
    else
      layer.mamba1(shape, plus(shape.time_step_rank, times(2, shape.state)));
    add_mlp(d, i, layer);
    layer.parameters(times(2, d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
}

void read_bamba(const Config& config, Draft& draft) {
  Decoder d =
      read_decoder(config, draft, {.kv_heads = 8, .intermediate = 14336, .vocabulary = 128000});
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  d.mlp_bias = config.flag("mlp_bias", false);
  if (!config.has("attn_layer_indices")) config.refuse_missing("attn_layer_indices");
  const std::vector<std::int64_t> attending = config.numbers("attn_layer_indices");
  const MambaShape shape = mamba2_shape(config, draft, d.hidden, {128, 1, 256});
  for (std::int64_t i = 0; i < d.layers; ++i) {
    LayerBuilder layer = draft.layer();
    if (std::find(attending.begin(), attending.end(), i) != attending.end())
      add_attention(d, i, layer);
    else
      layer.mamba2(shape, true);
    add_mlp(d, i, layer);
    layer.parameters(times(2, d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
}

void read_falcon_h1(const Config& config, Draft& draft) {
  Decoder d =
      read_decoder(config, draft, {.kv_heads = 8, .intermediate = 14336, .vocabulary = 128000});
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  d.mlp_bias = config.flag("mlp_bias", false);
  MambaShape shape = mamba2_shape(config, draft, d.hidden, {128, 1, 256, 1024});
  for (std::int64_t i = 0; i < d.layers; ++i) {
    LayerBuilder layer = draft.layer(); // attention and Mamba side by side
    add_attention(d, i, layer);
    layer.mamba2(shape, config.flag("mamba_rms_norm", false));
    add_mlp(d, i, layer);
    layer.parameters(times(2, d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
}

} // namespace breakeven::model
