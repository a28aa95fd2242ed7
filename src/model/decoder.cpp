#include "model/decoder.hpp"

#include "support/text.hpp"

namespace breakeven::model {

namespace {

constexpr const char* kv_head_keys = "num_key_value_heads|num_kv_heads|n_head_kv";

void read_heads(Decoder& d, const Config& config, Draft& draft, const Defaults& defaults) {
  d.heads = draft.core("num_attention_heads|n_head|n_heads|num_heads", defaults.heads);
  d.kv_heads = defaults.kv_heads == 0 ? config.count(kv_head_keys, d.heads)
                                      : draft.library(kv_head_keys, defaults.kv_heads);
  if (d.heads % d.kv_heads != 0)
    config.refuse(std::to_string(d.heads) + " attention heads are not a multiple of " +
                  std::to_string(d.kv_heads) + " KV heads");
  if (!config.has("head_dim|attention_head_dim") && defaults.head_dim == 0 &&
      d.hidden % d.heads != 0)
    config.refuse("the hidden size " + std::to_string(d.hidden) + " is not a multiple of " +
                  std::to_string(d.heads) + " attention heads, and head_dim is not given");
  d.head_dim = config.count("head_dim|attention_head_dim",
                            defaults.head_dim != 0 ? defaults.head_dim : d.hidden / d.heads);
}

} // namespace

Decoder read_decoder(const Config& config, Draft& draft, const Defaults& defaults) {
  Decoder d;
  d.hidden = draft.core("hidden_size|n_embd|d_model|n_embed", defaults.hidden);
  draft.hidden(d.hidden);
  d.layers = draft.layer_count("num_hidden_layers|n_layer|num_layers|n_layers", defaults.layers);
  read_heads(d, config, draft, defaults);
  constexpr const char* width = "intermediate_size|n_inner|ffn_hidden_size|ffn_dim";
  if (defaults.mlp_ratio > 0)
    d.intermediate = config.count(width, times(defaults.mlp_ratio, d.hidden));
  else if (defaults.intermediate > 0)
    d.intermediate = draft.core(width, defaults.intermediate);
  d.vocabulary = defaults.vocabulary_optional ? draft.library("vocab_size", defaults.vocabulary)
                                              : draft.core("vocab_size", defaults.vocabulary);
  d.tied = draft.tied(defaults.tied);
  draft.max_position(config.size(
      "max_position_embeddings|n_positions|max_seq_len|seq_length|model_max_length", 0));
  d.attention.kind = AttentionKind::full;
  d.attention.heads = d.heads;
  d.attention.kv_heads = d.kv_heads;
  d.attention.qk_head_dim = d.attention.v_head_dim = d.head_dim;
  d.activation = activation_of(config, "silu");
  d.moe.activation = d.activation;
  return d;
}

void set_bias(Decoder& decoder, bool qkv, bool output) {
  AttentionSpec& spec = decoder.attention;
  spec.q_bias = spec.k_bias = spec.v_bias = qkv;
  spec.o_bias = output;
}

void add_wide_norms(Decoder& decoder) {
  decoder.attention.qk_norm = true;
  decoder.extra_parameters = plus(decoder.extra_parameters,
                                  times(plus(decoder.heads, decoder.kv_heads), decoder.head_dim));
}

void add_head_norms(Decoder& decoder) {
  decoder.attention.qk_norm = true;
  decoder.extra_parameters = plus(decoder.extra_parameters, times(2, decoder.head_dim));
}

Activation activation_of(const Config& config, const char* fallback) {
  const std::string name =
      config.text("hidden_act|hidden_activation|activation_function|mlp_hidden_act", fallback);
  if (name == "silu" || name == "swish" || name == "swiglu") return Activation::silu;
  if (name.rfind("gelu", 0) == 0) return Activation::gelu;
  if (name == "relu2") return Activation::relu2;
  return Activation::other;
}

namespace {

void check_length(const Config& config, const char* key, std::size_t length, std::int64_t layers) {
  if (length >= static_cast<std::size_t>(layers)) return;
  config.refuse("'" + config.prefix() + key + "' describes " + std::to_string(length) + " of " +
                std::to_string(layers) + " layers");
}

} // namespace

std::vector<std::string> layer_list(const Config& config, const char* key, std::int64_t layers) {
  std::vector<std::string> list = config.texts(key);
  check_length(config, key, list.size(), layers);
  list.resize(static_cast<std::size_t>(layers));
  return list;
}

std::vector<std::int64_t> number_list(const Config& config, const char* key, std::int64_t layers) {
  std::vector<std::int64_t> list = config.numbers(key);
  check_length(config, key, list.size(), layers);
  list.resize(static_cast<std::size_t>(layers));
  return list;
}

void set_sparse_after(Decoder& decoder, const Config& config, std::int64_t first_default) {
  const nlohmann::json* freq = config.find("moe_layer_freq");
  if (freq != nullptr && freq->is_array()) {
    const auto list = number_list(config, "moe_layer_freq", decoder.layers);
    set_sparse(decoder, config,
               [&](std::int64_t i) { return list[static_cast<std::size_t>(i)] != 0; });
    return;
  }
  const std::int64_t first = config.size("first_k_dense_replace", first_default);
  const std::int64_t every = config.count("moe_layer_freq", 1);
  set_sparse(decoder, config, [&](std::int64_t i) { return i >= first && i % every == 0; });
}

void read_experts(Decoder& decoder, const Config& config, Draft& draft, const Defaults& defaults) {
  MoeShape& moe = decoder.moe;
  moe.experts = draft.core("n_routed_experts|num_experts|num_local_experts|moe_num_experts",
                           defaults.experts);
  moe.experts_per_token =
      draft.core("num_experts_per_tok|num_experts_per_token|moe_topk|moe_k|top_k_experts",
                 defaults.experts_per_token);
  if (moe.experts_per_token > moe.experts)
    config.refuse(std::to_string(moe.experts_per_token) + " experts per token of only " +
                  std::to_string(moe.experts) + " experts");
  moe.intermediate = defaults.moe_intermediate == 0
                         ? config.count("moe_intermediate_size", decoder.intermediate)
                         : draft.core("moe_intermediate_size", defaults.moe_intermediate);
  moe.activation = decoder.activation;
}

bool is_windowed_type(const Config& config, const std::string& type) {
  if (type == "full_attention" || type == "attention" || type == "global") return false;
  if (type == "sliding_attention" || type == "chunked_attention" || type == "local" ||
      type == "sliding_window")
    return true;
  config.refuse("'" + config.prefix() + "layer_types' holds '" + printable(type) +
                "', a kind of layer that is not known for this model_type");
}

std::int64_t binding_window(const Draft& draft, std::int64_t window) {
  const std::int64_t longest = draft.model().max_position_tokens;
  return longest > 0 && window >= longest ? 0 : window;
}

void add_attention(const Decoder& d, std::int64_t index, LayerBuilder& layer) {
  AttentionSpec spec = d.attention;
  if (!d.windows.empty() && d.windows[static_cast<std::size_t>(index)] > 0) {
    spec.kind = d.windowed_kind;
    spec.window_tokens = d.windows[static_cast<std::size_t>(index)];
  }
  layer.attention(spec, d.query_outputs);
  layer.parameters(d.extra_parameters);
}

void add_mlp(const Decoder& d, std::int64_t index, LayerBuilder& layer) {
  if (!d.sparse.empty() && d.sparse[static_cast<std::size_t>(index)] != 0)
    layer.moe(d.moe);
  else
    layer.mlp(d.intermediate, d.gated, d.mlp_bias, d.activation);
}

void add_ends(const Decoder& d, Draft& draft) {
  draft.vocabulary(d.vocabulary, d.tied, d.head_bias);
  draft.parameters(times(times(d.final_norms, d.norm_width), d.hidden));
}

void build(const Decoder& d, Draft& draft) {
  for (std::int64_t i = 0; i < d.layers; ++i) {
    LayerBuilder layer = draft.layer();
    add_attention(d, i, layer);
    add_mlp(d, i, layer);
    layer.parameters(times(times(d.norms, d.norm_width), d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
}

} // namespace breakeven::model
