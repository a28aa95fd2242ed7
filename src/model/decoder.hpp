#pragma once

#include "model/draft.hpp"

#include <cstdint>
#include <vector>

namespace breakeven::model {

/// Values that the library gives a model_type where a config is silent. 0 for kv_heads: as many as
/// heads; 0 for head_dim: hidden / heads. `mlp_ratio` > 0: the MLP is that many times as wide as
/// the hidden state by definition. `intermediate` = 0: the reader finds the width itself.
struct Defaults {
  std::int64_t hidden = 4096, layers = 32, heads = 32, kv_heads = 0, intermediate = 11008,
               vocabulary = 32000, head_dim = 0, mlp_ratio = 0, experts = 0, experts_per_token = 0,
               moe_intermediate = 0;
  bool tied = false;
  bool vocabulary_optional = false; ///< published files leave it to the library
};

/// A decoder in which every layer is norm, attention, norm, MLP, with windows and experts in some
/// of them: most published models. read_decoder() fills the common keys, a reader adjusts, build()
/// turns it into layers.
struct Decoder {
  std::int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, intermediate = 0,
               vocabulary = 0;
  bool tied = false, head_bias = false;
  AttentionSpec attention;
  std::int64_t query_outputs = 1;    ///< 2: a gate of the queries' size comes with them
  std::int64_t extra_parameters = 0; ///< of one layer: query and key norms, sinks, ...
  std::int64_t norms = 2;            ///< norms of the hidden size in one layer
  std::int64_t final_norms = 1;
  std::int64_t norm_width = 1; ///< 2: LayerNorm with bias; 0: no weights
  bool gated = true, mlp_bias = false;
  Activation activation = Activation::silu;
  AttentionKind windowed_kind = AttentionKind::sliding_window;
  std::vector<std::int64_t> windows; ///< by layer; 0 = full; empty = all full
  std::vector<char> sparse;          ///< by layer: has experts; empty = none has
  MoeShape moe;
};

/// Reads the usual keys (transformers' names, and the older ones of GPT-2's kind). Throws
/// error_kind::bad_input.
Decoder read_decoder(const Config& config, Draft& draft, const Defaults& defaults);

/// Sets query and key norms: one weight per element of a head each, for both.
void add_head_norms(Decoder& decoder);
/// The same with one weight per element of all heads together.
void add_wide_norms(Decoder& decoder);
void set_bias(Decoder& decoder, bool qkv, bool output);

/// Layers' windows from `layer_types` when present, else `fallback(layer)`; a window that no prompt
/// can exceed is none. `window` is the size in tokens, 0 = none.
template <class IsWindowed>
void set_windows(Decoder& decoder, const Config& config, Draft& draft, std::int64_t window,
                 IsWindowed fallback);

/// Entry `layer` of `layer_types`-like lists that must cover all layers; longer ones are cut.
std::vector<std::string> layer_list(const Config& config, const char* key, std::int64_t layers);
std::vector<std::int64_t> number_list(const Config& config, const char* key, std::int64_t layers);

/// Layers with experts: `mlp_layer_types` when present, else `fallback(layer)`.
template <class IsSparse>
void set_sparse(Decoder& decoder, const Config& config, IsSparse fallback);
/// Experts from layer `first_k_dense_replace` (or its default) on, every `moe_layer_freq`-th.
void set_sparse_after(Decoder& decoder, const Config& config, std::int64_t first_default);
/// Experts, experts per token and width under the usual names; refuses when one is missing.
void read_experts(Decoder& decoder, const Config& config, Draft& draft, const Defaults& defaults);

/// True for the spellings of a windowed layer in `layer_types`; throws for unknown ones.
bool is_windowed_type(const Config& config, const std::string& type);

/// A window that binds: 0 when it is not smaller than the longest prompt.
std::int64_t binding_window(const Draft& draft, std::int64_t window);

/// Appends all layers and the vocabulary to the draft.
void build(const Decoder& decoder, Draft& draft);
/// Adds attention of layer `index` to `layer`, with its window. For readers that build by hand.
void add_attention(const Decoder& decoder, std::int64_t index, LayerBuilder& layer);
void add_mlp(const Decoder& decoder, std::int64_t index, LayerBuilder& layer);
/// Embedding, head and final norm.
void add_ends(const Decoder& decoder, Draft& draft);

Activation activation_of(const Config& config, const char* fallback);

template <class IsSparse>
void set_sparse(Decoder& decoder, const Config& config, IsSparse fallback) {
  std::vector<std::string> types;
  if (config.has("mlp_layer_types")) types = layer_list(config, "mlp_layer_types", decoder.layers);
  for (std::int64_t i = 0; i < decoder.layers; ++i)
    decoder.sparse.push_back(types.empty() ? fallback(i)
                                           : types[static_cast<std::size_t>(i)] == "sparse");
}

template <class IsWindowed>
void set_windows(Decoder& decoder, const Config& config, Draft& draft, std::int64_t window,
                 IsWindowed fallback) {
  std::vector<std::string> types;
  if (config.has("layer_types")) types = layer_list(config, "layer_types", decoder.layers);
  std::vector<std::int64_t> windows;
  bool any = false;
  for (std::int64_t i = 0; i < decoder.layers; ++i) {
    const bool windowed =
        types.empty() ? fallback(i) : is_windowed_type(config, types[static_cast<std::size_t>(i)]);
    any = any || windowed;
    windows.push_back(windowed ? window : 0);
  }
  if (any && window == 0) config.refuse_missing("sliding_window");
  if (binding_window(draft, window) > 0) decoder.windows = std::move(windows);
}

} // namespace breakeven::model
