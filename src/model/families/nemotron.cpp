// Nemotron-H (a letter a layer), Nemotron NAS (a block description a layer), Zamba, LFM2. Shapes:
// transformers' models of these names; Nemotron NAS by its modeling_decilm.py.
#include "model/families/mamba_keys.hpp"

#include <algorithm>

namespace breakeven::model {
namespace {

/// 'M' Mamba-2, '*' attention, '-' MLP, 'E' experts.
std::vector<char> block_letters(const Config& config, std::int64_t layers) {
  std::vector<char> letters;
  if (config.has("hybrid_override_pattern")) {
    for (const char c : config.text("hybrid_override_pattern", ""))
      letters.push_back(c);
  } else {
    for (const std::string& type : config.texts("layers_block_type|layer_types"))
      letters.push_back(type == "mamba" || type == "linear_attention"     ? 'M'
                        : type == "attention" || type == "full_attention" ? '*'
                        : type == "mlp"                                   ? '-'
                        : type == "moe"                                   ? 'E'
                                                                          : '?');
  }
  if (letters.empty()) config.refuse_missing("hybrid_override_pattern|layers_block_type");
  if (layers > 0 && static_cast<std::int64_t>(letters.size()) < layers)
    config.refuse("the layer pattern describes " + std::to_string(letters.size()) + " of " +
                  std::to_string(layers) + " layers");
  if (layers > 0) letters.resize(static_cast<std::size_t>(layers));
  return letters;
}

MambaShape nemotron_mamba(const Config& config, const Draft& draft) {
  MambaShape shape;
  shape.heads = config.count("mamba_num_heads", 128);
  shape.inner = times(shape.heads, config.count("mamba_head_dim", 64));
  shape.groups = config.count("n_groups", 8);
  shape.state = config.count("ssm_state_size", 128);
  shape.kernel = config.count("conv_kernel", 4);
  shape.conv_bias = config.flag("use_conv_bias", true);
  shape.projection_bias = config.flag("use_bias", false);
  shape.conv_dtype = draft.model().activation_dtype;
  shape.state_dtype = draft.state_dtype();
  return shape;
}

void read_nemotron_experts(Decoder& d, const Config& config, Draft& draft) {
  d.moe.experts = config.count("n_routed_experts");
  d.moe.experts_per_token = config.count("num_experts_per_tok");
  d.moe.intermediate = config.count("moe_intermediate_size");
  d.moe.shared_intermediate = times(config.size("n_shared_experts", 1),
                                    config.size("moe_shared_expert_intermediate_size", 0));
  d.moe.gated = false;
  d.moe.activation = d.activation;
  d.moe.router_bias = true; // e_score_correction_bias
  d.moe.latent = config.size("moe_latent_size", 0);
  static_cast<void>(draft);
}

} // namespace

void read_nemotron_h(const Config& config, Draft& draft) {
  Decoder d;
  d.hidden = draft.core("hidden_size", 4096);
  draft.hidden(d.hidden);
  const std::vector<char> letters = block_letters(config, config.size("num_hidden_layers", 0));
  d.layers = static_cast<std::int64_t>(letters.size());
  if (d.layers > max_layers) config.refuse("the layer pattern is too long");
  d.heads = draft.core("num_attention_heads", 32);
  d.kv_heads = config.count("num_key_value_heads", 8);
  if (d.heads % d.kv_heads != 0)
    config.refuse("num_key_value_heads does not divide num_attention_heads");
  d.head_dim = config.count("head_dim|attention_head_dim", 128);
  d.vocabulary = draft.core("vocab_size", 131072);
  d.tied = draft.tied(false);
  draft.max_position(config.size("max_position_embeddings", 0));
  d.attention.kind = AttentionKind::full;
  d.attention.heads = d.heads;
  d.attention.kv_heads = d.kv_heads;
  d.attention.qk_head_dim = d.attention.v_head_dim = d.head_dim;
  d.attention.rope = false;
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  d.activation = activation_of(config, "relu2");
  const auto uses = [&](char c) {
    return std::find(letters.begin(), letters.end(), c) != letters.end();
  };
  if (uses('-')) d.intermediate = draft.library("intermediate_size", 21504);
  if (uses('E')) read_nemotron_experts(d, config, draft);
  for (const char letter : letters) {
    LayerBuilder layer = draft.layer();
    switch (letter) {
    case 'M':
      layer.mamba2(nemotron_mamba(config, draft), true);
      break;
    case '*':
      add_attention(d, 0, layer);
      break;
    case 'E':
      layer.moe(d.moe);
      break;
    case '-':
      layer.mlp(d.intermediate, false, config.flag("mlp_bias", false), d.activation);
      layer.name("mlp");
      break;
    default:
      config.refuse("the layer pattern holds a letter other than M, *, - and E");
    }
    layer.parameters(d.hidden);
    draft.add(layer);
  }
  add_ends(d, draft);
}

namespace {

/// Width of a block's MLP: 2/3 of ffn_mult x hidden, rounded up to 256 (modeling_decilm.py).
std::int64_t nas_width(const Config& ffn, std::int64_t hidden) {
  if (ffn.has("intermediate_size")) return ffn.count("intermediate_size");
  const double mult = ffn.real("ffn_mult", 0);
  if (!(mult > 0) || mult > 1e6) ffn.refuse_missing("ffn_mult");
  const auto width = static_cast<std::int64_t>(2 * mult * static_cast<double>(hidden) / 3);
  return (width + 255) / 256 * 256;
}

/// Given as such, or as the number of query heads that share one.
std::int64_t nas_kv_heads(const Config& attention, std::int64_t heads) {
  const bool direct = attention.has("num_key_value_heads");
  const std::int64_t n = attention.count(direct ? "num_key_value_heads" : "n_heads_in_group");
  if (heads % n != 0)
    attention.refuse("'" + attention.prefix() + "' gives " + std::to_string(n) +
                     ", which does not divide the " + std::to_string(heads) + " attention heads");
  return direct ? n : heads / n;
}

void add_nas_block(const Config& block, const Decoder& d, Draft& draft) {
  const auto attention = block.object("attention");
  const auto ffn = block.object("ffn");
  if (!attention) block.refuse_missing("attention");
  if (!ffn) block.refuse_missing("ffn");
  LayerBuilder layer = draft.layer();
  if (attention->flag("replace_with_linear", false)) {
    layer.gemm("attention_linear", d.hidden, d.hidden);
    layer.parameters(d.hidden);
    layer.name("linear");
  } else if (!attention->flag("no_op", false)) {
    AttentionSpec spec = d.attention;
    spec.kv_heads = nas_kv_heads(*attention, d.heads);
    if (attention->has("window_length")) {
      spec.kind = AttentionKind::sliding_window;
      spec.window_tokens = attention->count("window_length");
    }
    layer.attention(spec);
    layer.parameters(d.hidden);
  }
  if (ffn->flag("replace_with_linear", false)) {
    layer.gemm("mlp_linear", d.hidden, d.hidden);
    layer.parameters(d.hidden);
  } else if (!ffn->flag("no_op", false)) {
    layer.mlp(nas_width(*ffn, d.hidden), true, d.mlp_bias, d.activation);
    layer.parameters(d.hidden);
    if (attention->flag("no_op", false)) layer.name("mlp");
  }
  draft.add(layer);
}

} // namespace

void read_nemotron_nas(const Config& config, Draft& draft) {
  const std::vector<Config> blocks = config.objects("block_configs");
  const bool listed = config.has("num_key_value_heads_per_layer"); // DeciLM 7B
  if (blocks.empty() && !listed)
    config.refuse_missing("block_configs|num_key_value_heads_per_layer");
  Decoder d;
  d.hidden = config.count("hidden_size");
  draft.hidden(d.hidden);
  d.layers = draft.layer_count("num_hidden_layers", 0);
  d.heads = config.count("num_attention_heads");
  if (!config.has("head_dim") && d.hidden % d.heads != 0)
    config.refuse("hidden_size is not a multiple of num_attention_heads");
  d.head_dim = config.count("head_dim", d.hidden / d.heads);
  d.vocabulary = config.count("vocab_size");
  d.tied = draft.tied(false);
  draft.max_position(config.size("max_position_embeddings", 0));
  d.activation = activation_of(config, "silu");
  d.mlp_bias = config.flag("mlp_bias", false);
  d.attention.kind = AttentionKind::full;
  d.attention.heads = d.heads;
  d.attention.qk_head_dim = d.attention.v_head_dim = d.head_dim;
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  if (listed) {
    d.intermediate = config.count("intermediate_size");
    const auto kv = number_list(config, "num_key_value_heads_per_layer", d.layers);
    for (std::int64_t i = 0; i < d.layers; ++i) {
      d.attention.kv_heads = kv[static_cast<std::size_t>(i)];
      if (d.attention.kv_heads == 0 || d.heads % d.attention.kv_heads != 0)
        config.refuse(
            "num_key_value_heads_per_layer holds a number that does not divide the heads");
      LayerBuilder layer = draft.layer();
      add_attention(d, i, layer);
      add_mlp(d, i, layer);
      layer.parameters(times(2, d.hidden));
      draft.add(layer);
    }
  } else {
    if (static_cast<std::int64_t>(blocks.size()) < d.layers)
      config.refuse("'block_configs' describes " + std::to_string(blocks.size()) + " of " +
                    std::to_string(d.layers) + " layers");
    for (std::int64_t i = 0; i < d.layers; ++i)
      add_nas_block(blocks[static_cast<std::size_t>(i)], d, draft);
  }
  add_ends(d, draft);
}

void read_lfm2(const Config& config, Draft& draft) {
  // LFM2-MoE gives its dense width as it is, LFM2 before rounding.
  const bool sparse = config.has("num_experts") || config.text("model_type", "") == "lfm2_moe";
  const Defaults defaults{.hidden = sparse ? 2048 : 2560,
                          .layers = 32,
                          .kv_heads = 8,
                          .intermediate = sparse ? 7168 : 12288,
                          .vocabulary = 65536,
                          .experts = 32,
                          .experts_per_token = 4,
                          .moe_intermediate = 1792,
                          .tied = true};
  Decoder d = read_decoder(config, draft, defaults);
  d.tied = draft.tied(config.flag("tie_embedding", true));
  add_head_norms(d);
  d.intermediate = config.count("block_ff_dim", d.intermediate);
  if (!sparse && config.flag("block_auto_adjust_ff_dim", true)) {
    // 2/3 of the given width, rounded up (modeling_lfm2.py).
    const auto two_thirds = static_cast<std::int64_t>(config.real("block_ffn_dim_multiplier", 1.0) *
                                                      static_cast<double>(2 * d.intermediate / 3));
    const std::int64_t multiple = config.count("block_multiple_of", 256);
    d.intermediate = times((two_thirds + multiple - 1) / multiple, multiple);
  }
  std::vector<std::string> types;
  if (config.has("layer_types")) types = layer_list(config, "layer_types", d.layers);
  const std::vector<std::int64_t> attending = config.numbers("full_attn_idxs");
  if (types.empty() && attending.empty()) config.refuse_missing("layer_types|full_attn_idxs");
  if (sparse) {
    read_experts(d, config, draft, defaults);
    d.moe.router_bias = config.flag("use_expert_bias", true);
    const std::int64_t dense = config.size("num_dense_layers", 2);
    set_sparse(d, config, [&](std::int64_t i) { return i >= dense; });
  }
  for (std::int64_t i = 0; i < d.layers; ++i) {
    LayerBuilder layer = draft.layer();
    const bool attends = types.empty()
                             ? std::find(attending.begin(), attending.end(), i) != attending.end()
                             : types[static_cast<std::size_t>(i)] == "full_attention";
    if (attends)
      add_attention(d, i, layer);
    else
      layer.short_conv(config.count("conv_L_cache", 3), config.flag("conv_bias", false),
                       draft.model().activation_dtype);
    add_mlp(d, i, layer);
    layer.parameters(times(2, d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
}

} // namespace breakeven::model
