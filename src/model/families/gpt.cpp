// GPT-2 and its descendants, OPT, BLOOM: LayerNorms, plain MLPs, biases. Defaults: transformers'
// configuration_*.py.
#include "model/families/families.hpp"

#include <algorithm>

namespace breakeven::model {
namespace {

Decoder read_layer_norm(const Config& config, Draft& draft, const Defaults& defaults) {
  Decoder d = read_decoder(config, draft, defaults);
  d.norm_width = 2;
  d.gated = false;
  d.mlp_bias = true;
  d.activation = activation_of(config, "gelu_new");
  return d;
}

} // namespace

void read_gpt2(const Config& config, Draft& draft) {
  Decoder d = read_layer_norm(config, draft, {.vocabulary = 50257, .mlp_ratio = 4, .tied = true});
  set_bias(d, true, true);
  build(d, draft);
  draft.parameters(times(config.count("n_positions|n_ctx", 1024), d.hidden));
}

void read_gpt_bigcode(const Config& config, Draft& draft) {
  Decoder d = read_layer_norm(config, draft, {.vocabulary = 50257, .mlp_ratio = 4, .tied = true});
  d.attention.kv_heads = d.kv_heads = config.flag("multi_query", true) ? 1 : d.heads;
  set_bias(d, true, true);
  build(d, draft);
  draft.parameters(times(config.count("n_positions", 1024), d.hidden));
}

void read_gptj(const Config& config, Draft& draft) {
  // GPT-J and CodeGen: one LayerNorm for attention and MLP, which run side by side.
  Decoder d = read_layer_norm(config, draft, {.vocabulary = 50400, .mlp_ratio = 4});
  d.norms = 1;
  d.head_bias = true;
  build(d, draft);
}

void read_gpt_neo(const Config& config, Draft& draft) {
  Decoder d = read_layer_norm(config, draft, {.vocabulary = 50257, .mlp_ratio = 4, .tied = true});
  set_bias(d, false, true);
  // attention_types: [[["global", "local"], 12]] repeats the inner list; default the same.
  std::vector<std::string> types;
  const nlohmann::json* rows = config.find("attention_types|attention_layers");
  if (rows != nullptr && rows->is_array() && !rows->empty() && rows->front().is_string()) {
    types = layer_list(config, "attention_layers", d.layers);
  } else if (rows != nullptr) {
    if (!rows->is_array()) config.refuse("'attention_types' is not a list");
    for (const nlohmann::json& row : *rows) {
      if (!row.is_array() || row.size() != 2 || !row[0].is_array() || !row[1].is_number_unsigned())
        config.refuse("'attention_types' is not a list of [[kind, ...], repeats]");
      for (std::uint64_t i = 0;
           i < row[1].get<std::uint64_t>() && types.size() < static_cast<std::size_t>(d.layers);
           ++i)
        for (const nlohmann::json& kind : row[0])
          types.push_back(kind.is_string() ? kind.get<std::string>() : "");
    }
    if (types.size() < static_cast<std::size_t>(d.layers))
      config.refuse("'attention_types' describes fewer layers than the model has");
  }
  set_windows(d, config, draft, config.count("window_size", 256), [&](std::int64_t i) {
    return types.empty() ? i % 2 == 1
                         : is_windowed_type(config, types[static_cast<std::size_t>(i)]);
  });
  build(d, draft);
  draft.parameters(times(config.count("max_position_embeddings", 2048), d.hidden));
}

void read_gpt_neox(const Config& config, Draft& draft) {
  Decoder d = read_layer_norm(
      config, draft,
      {.hidden = 6144, .layers = 44, .heads = 64, .intermediate = 24576, .vocabulary = 50432});
  const bool bias = config.flag("attention_bias", true);
  set_bias(d, bias, bias);
  build(d, draft);
}

void read_opt(const Config& config, Draft& draft) {
  Decoder d = read_layer_norm(config, draft,
                              {.hidden = 768,
                               .layers = 12,
                               .heads = 12,
                               .intermediate = 3072,
                               .vocabulary = 50272,
                               .tied = true});
  const bool bias = config.flag("enable_bias", true);
  set_bias(d, bias, bias);
  d.mlp_bias = bias;
  d.norm_width = config.flag("layer_norm_elementwise_affine", true) ? 2 : 0;
  const bool last =
      config.flag("do_layer_norm_before", true) && !config.flag("_remove_final_layer_norm", false);
  d.final_norms = last ? 1 : 0;
  const std::int64_t width = config.count("word_embed_proj_dim", d.hidden);
  if (width != d.hidden) {
    // Embeddings of another width, projected in and out.
    draft.parameters(times(times(2, width), d.hidden));
    draft.parameters(times(times(d.vocabulary, d.tied ? 1 : 2), width) -
                     times(times(d.vocabulary, d.tied ? 1 : 2), d.hidden));
  }
  build(d, draft);
  draft.parameters(times(plus(config.count("max_position_embeddings", 2048), 2), d.hidden));
}

void read_bloom(const Config& config, Draft& draft) {
  Decoder d = read_layer_norm(config, draft, {.vocabulary = 250880, .mlp_ratio = 4, .tied = true});
  set_bias(d, true, true);
  d.final_norms = 2; // one of them follows the embedding
  build(d, draft);
}

} // namespace breakeven::model
