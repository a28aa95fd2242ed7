// MiniMax M2 and M3, MiMo V2, Step 3.5. Defaults and shapes: transformers' minimax_m2,
// minimax_m3_vl, mimo_v2_flash, step3p7.
#include "model/families/families.hpp"

#include "support/text.hpp"

#include <algorithm>

namespace breakeven::model {

void read_minimax_m2(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 3072,
                          .layers = 62,
                          .heads = 48,
                          .kv_heads = 8,
                          .intermediate = 1536,
                          .vocabulary = 200064,
                          .head_dim = 128,
                          .experts = 256,
                          .experts_per_token = 8};
  Decoder d = read_decoder(config, draft, defaults);
  if (config.flag("use_qk_norm", true)) {
    if (config.text("qk_norm_type", "per_layer") == "per_head")
      add_head_norms(d);
    else
      add_wide_norms(d);
  }
  read_experts(d, config, draft, defaults);
  d.moe.intermediate = d.intermediate;
  d.moe.shared_intermediate = config.size("shared_intermediate_size", 0);
  d.moe.router_bias = config.flag("use_routing_bias", true);
  set_sparse(d, config, [](std::int64_t) { return true; });
  build(d, draft);
}

void read_minimax_m3(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 6144,
                          .layers = 60,
                          .heads = 64,
                          .kv_heads = 4,
                          .intermediate = 3072,
                          .vocabulary = 200064,
                          .head_dim = 128,
                          .experts = 128,
                          .experts_per_token = 4};
  Decoder d = read_decoder(config, draft, defaults);
  add_head_norms(d);
  read_experts(d, config, draft, defaults);
  d.moe.intermediate = d.intermediate;
  d.moe.shared_intermediate = times(config.size("n_shared_experts", 1),
                                    config.size("shared_intermediate_size", d.intermediate));
  d.moe.router_bias = true;
  set_sparse_after(d, config, 0);
  d.intermediate = config.count("dense_intermediate_size", 12288);
  // Sparse layers keep an index key per token, by which blocks of keys are chosen.
  std::vector<std::int64_t> indexed;
  AttentionSpec sparse = d.attention;
  std::vector<std::string> types;
  if (config.has("layer_types")) types = layer_list(config, "layer_types", d.layers);
  std::int64_t block = config.count("index_block_size", 128);
  std::int64_t blocks = config.count("index_topk_blocks", 16);
  sparse.index_heads = config.count("index_n_heads", 4);
  sparse.index_head_dim = config.count("index_head_dim", 128);
  if (const auto section = config.object("sparse_attention_config")) {
    if (section->flag("use_sparse_attention", true))
      indexed = number_list(*section, "sparse_attention_freq", d.layers);
    sparse.index_heads = section->count("sparse_num_index_heads", sparse.index_heads);
    sparse.index_head_dim = section->count("sparse_index_dim", sparse.index_head_dim);
    block = section->count("sparse_block_size", block);
    blocks = section->count("sparse_topk_blocks", blocks);
  }
  sparse.index_topk = times(block, blocks);
  for (std::int64_t i = 0; i < d.layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool is_sparse =
        types.empty() ? !indexed.empty() && indexed[at] != 0 : types[at] != "full_attention";
    LayerBuilder layer = draft.layer();
    layer.attention(is_sparse ? sparse : d.attention);
    layer.parameters(d.extra_parameters);
    if (is_sparse) {
      layer.gemm("index_q", d.hidden, times(sparse.index_heads, sparse.index_head_dim));
      layer.gemm("index_k", d.hidden, sparse.index_head_dim);
      layer.parameters(times(2, sparse.index_head_dim));
      layer.name("index");
    }
    add_mlp(d, i, layer);
    layer.parameters(times(2, d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
}

void read_mimo_v2(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 4096,
                          .layers = 48,
                          .heads = 64,
                          .kv_heads = 4,
                          .intermediate = 16384,
                          .vocabulary = 152576,
                          .head_dim = 192,
                          .experts = 256,
                          .experts_per_token = 8,
                          .moe_intermediate = 2048};
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, false);
  d.attention.v_head_dim = config.count("v_head_dim", 128);
  read_experts(d, config, draft, defaults);
  d.moe.shared_intermediate = times(config.size("n_shared_experts", 0), d.moe.intermediate);
  d.moe.router_bias = true;
  set_sparse_after(d, config, 1);
  AttentionSpec windowed = d.attention;
  windowed.kind = AttentionKind::sliding_window;
  windowed.window_tokens = config.count("sliding_window|sliding_window_size", 128);
  windowed.heads = config.count("swa_num_attention_heads", d.heads);
  windowed.kv_heads = config.count("swa_num_key_value_heads", times(2, d.kv_heads));
  windowed.qk_head_dim = config.count("swa_head_dim", d.head_dim);
  windowed.v_head_dim = config.count("swa_v_head_dim", d.attention.v_head_dim);
  if (windowed.heads % windowed.kv_heads != 0)
    config.refuse("swa_num_key_value_heads does not divide swa_num_attention_heads");
  std::vector<std::int64_t> pattern; // 1 = windowed
  std::vector<std::string> types;
  if (config.has("layer_types"))
    types = layer_list(config, "layer_types", d.layers);
  else if (config.has("hybrid_layer_pattern"))
    pattern = number_list(config, "hybrid_layer_pattern", d.layers);
  const bool sinks = config.flag("add_swa_attention_sink_bias", true);
  for (std::int64_t i = 0; i < d.layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool slides = !types.empty()     ? is_windowed_type(config, types[at])
                        : !pattern.empty() ? pattern[at] != 0
                                           : i != 0 && (i + 1) % 6 != 0;
    LayerBuilder layer = draft.layer();
    layer.attention(slides ? windowed : d.attention);
    if (slides && sinks) layer.parameters(windowed.heads);
    add_mlp(d, i, layer);
    layer.parameters(times(2, d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
}

namespace {

/// "3,4,5" or [3, 4, 5]: the layers with experts.
std::vector<std::int64_t> listed_layers(const Config& config, const char* key) {
  const nlohmann::json* value = config.find(key);
  if (value == nullptr || !value->is_string()) return config.numbers(key);
  std::vector<std::int64_t> layers;
  for (const std::string& item : split(value->get<std::string>(), ',')) {
    if (item.empty() || item.size() > 6 ||
        !std::all_of(item.begin(), item.end(), [](char c) { return c >= '0' && c <= '9'; }))
      config.refuse(std::string("'") + key + "' is not a list of layer numbers");
    layers.push_back(std::stoll(item));
  }
  return layers;
}

} // namespace

void read_step3p5(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft,
                           {.hidden = 4096,
                            .layers = 45,
                            .heads = 64,
                            .intermediate = 11264,
                            .vocabulary = 128815,
                            .head_dim = 128});
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  d.mlp_bias = config.flag("mlp_bias", false);
  d.attention.kv_heads = config.count("num_attention_groups|num_key_value_heads", 8);
  d.moe.experts = config.count("moe_num_experts|n_routed_experts|num_local_experts", 288);
  d.moe.experts_per_token = config.count("moe_top_k|num_experts_per_tok", 8);
  d.moe.intermediate = config.count("moe_intermediate_size", 1280);
  d.moe.shared_intermediate = config.size("share_expert_dim|share_expert_dims", 1280);
  d.moe.router_bias = config.flag("use_moe_router_bias", true);
  const std::vector<std::int64_t> sparse = listed_layers(config, "moe_layers_enum");
  set_sparse(d, config, [&](std::int64_t i) {
    return config.has("moe_layers_enum")
               ? std::find(sparse.begin(), sparse.end(), i) != sparse.end()
               : i >= 3;
  });
  AttentionSpec windowed = d.attention;
  windowed.kind = AttentionKind::sliding_window;
  windowed.window_tokens = config.size("sliding_window", 0);
  windowed.heads = config.count("num_sliding_attention_heads", d.heads);
  if (const auto other = config.object("attention_other_setting")) {
    windowed.heads = other->count("num_attention_heads", windowed.heads);
    windowed.kv_heads = other->count("num_attention_groups", windowed.kv_heads);
    windowed.qk_head_dim = windowed.v_head_dim = other->count("head_dim", d.head_dim);
  }
  for (const AttentionSpec* spec : {&d.attention, &windowed})
    if (spec->heads % spec->kv_heads != 0)
      config.refuse("num_attention_groups does not divide the attention heads");
  std::vector<std::string> types;
  if (config.has("layer_types")) types = layer_list(config, "layer_types", d.layers);
  const bool gate = config.flag("use_head_wise_attn_gate", true);
  for (std::int64_t i = 0; i < d.layers; ++i) {
    const bool slides =
        !types.empty() && is_windowed_type(config, types[static_cast<std::size_t>(i)]);
    if (slides && windowed.window_tokens == 0) config.refuse_missing("sliding_window");
    const AttentionSpec& spec = slides ? windowed : d.attention;
    LayerBuilder layer = draft.layer();
    layer.attention(spec);
    if (config.flag("use_qk_norm", true)) layer.parameters(times(2, spec.qk_head_dim));
    if (gate)
      layer.gemm("attention_gate", d.hidden, layer.ranks().split(spec.heads, "attention heads"));
    add_mlp(d, i, layer);
    layer.parameters(times(2, d.hidden));
    draft.add(layer);
  }
  add_ends(d, draft);
}

} // namespace breakeven::model
