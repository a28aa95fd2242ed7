// DeepSeek v1 to v3.2, Kimi K2, GLM-5, GLM-4.7 Flash, MiniCPM3, Mistral 4: multi-head latent
// attention, most with experts. Defaults: transformers' configuration_*.py.
#include "model/families/mla.hpp"

namespace breakeven::model {
namespace {

void read_shared(Decoder& d, const Config& config, std::int64_t definition) {
  d.moe.shared_intermediate =
      times(config.size("n_shared_experts|num_shared_experts", definition), d.moe.intermediate);
}

void set_indexer(Decoder& d, const Config& config, std::int64_t heads) {
  d.attention.index_heads = config.count("index_n_heads", heads);
  d.attention.index_head_dim = config.count("index_head_dim", 128);
  d.attention.index_topk = config.count("index_topk", 2048);
  if (d.attention.q_lora_rank == 0) config.refuse_missing("q_lora_rank");
}

constexpr Defaults v3_defaults{.hidden = 7168,
                               .layers = 61,
                               .heads = 128,
                               .intermediate = 18432,
                               .vocabulary = 129280,
                               .experts = 256,
                               .experts_per_token = 8,
                               .moe_intermediate = 2048};

Decoder read_v3(const Config& config, Draft& draft, const Defaults& defaults) {
  Decoder d = read_mla_decoder(config, draft, defaults, {1536, 512, 128, 64, 128});
  if (config.contains("n_routed_experts") && !config.has("n_routed_experts")) return d; // dense
  read_experts(d, config, draft, defaults);
  read_shared(d, config, 1);
  d.moe.router_bias = true; // e_score_correction_bias
  set_sparse_after(d, config, 3);
  return d;
}

} // namespace

void read_deepseek(const Config& config, Draft& draft) {
  const Defaults defaults{.vocabulary = 102400, .experts_per_token = 6, .moe_intermediate = 1408};
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  if (config.has("n_routed_experts")) {
    read_experts(d, config, draft, defaults);
    read_shared(d, config, 0);
    set_sparse_after(d, config, 0);
  }
  build(d, draft);
}

void read_deepseek_v2(const Config& config, Draft& draft) {
  const Defaults defaults{.vocabulary = 102400, .experts = 64, .moe_intermediate = 1407};
  Decoder d = read_mla_decoder(config, draft, defaults, {1536, 512, 128, 64, 128});
  if (config.has("n_routed_experts") || !config.contains("n_routed_experts")) {
    read_experts(d, config, draft, defaults);
    read_shared(d, config, 2);
    d.moe.router_bias = config.text("topk_method", "greedy") == "noaux_tc";
    set_sparse_after(d, config, 0);
  }
  build_mla(d, draft);
}

void read_deepseek_v3(const Config& config, Draft& draft) {
  build_mla(read_v3(config, draft, v3_defaults), draft);
}

void read_deepseek_v32(const Config& config, Draft& draft) {
  Decoder d = read_v3(config, draft, v3_defaults);
  set_indexer(d, config, 64);
  build_mla(d, draft);
}

void read_glm_moe_dsa(const Config& config, Draft& draft) {
  Defaults defaults = v3_defaults;
  defaults.hidden = 6144;
  defaults.layers = 78;
  defaults.heads = 64;
  defaults.intermediate = 12288;
  defaults.vocabulary = 154880;
  Decoder d = read_mla_decoder(config, draft, defaults, {2048, 512, 192, 64, 256});
  read_experts(d, config, draft, defaults);
  read_shared(d, config, 1);
  d.moe.router_bias = true;
  set_sparse_after(d, config, 3);
  set_indexer(d, config, 32);
  // Later versions run the indexer in some layers only; the others reuse its choice.
  std::vector<std::string> modes;
  if (config.has("indexer_types")) modes = layer_list(config, "indexer_types", d.layers);
  const std::string pattern = config.text("index_topk_pattern", "");
  const std::int64_t every = config.count("index_topk_freq", 1);
  const std::int64_t offset = config.size("index_skip_topk_offset", 2);
  for (std::int64_t i = 0; i < d.layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t past = i - offset + 1;
    const bool indexed = !modes.empty()     ? modes[at] == "full"
                         : !pattern.empty() ? at < pattern.size() && pattern[at] == 'F'
                                            : past <= 0 || past % every == 0;
    add_mla_layer(d, i, draft, indexed);
  }
  add_ends(d, draft);
}

void read_glm4_moe_lite(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 2048,
                          .layers = 47,
                          .heads = 20,
                          .intermediate = 10240,
                          .vocabulary = 154880,
                          .experts = 64,
                          .experts_per_token = 4,
                          .moe_intermediate = 1536};
  Decoder d = read_mla_decoder(config, draft, defaults, {768, 512, 192, 64, 256});
  read_experts(d, config, draft, defaults);
  read_shared(d, config, 1);
  d.moe.router_bias = true;
  set_sparse_after(d, config, 1);
  build_mla(d, draft);
}

void read_minicpm3(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 2560,
                          .layers = 62,
                          .heads = 40,
                          .intermediate = 6400,
                          .vocabulary = 73448,
                          .tied = true};
  const std::int64_t heads = config.count("num_attention_heads", 40);
  const std::int64_t hidden = config.count("hidden_size", 2560);
  Decoder d = read_mla_decoder(config, draft, defaults, {768, 256, 64, 32, hidden / heads});
  build_mla(d, draft);
}

void read_mistral4(const Config& config, Draft& draft) {
  const Defaults defaults{.layers = 36,
                          .intermediate = 12288,
                          .vocabulary = 131072,
                          .experts = 128,
                          .experts_per_token = 4,
                          .moe_intermediate = 2048};
  Decoder d = read_mla_decoder(config, draft, defaults, {1024, 256, 64, 64, 128});
  read_experts(d, config, draft, defaults);
  read_shared(d, config, 1);
  set_sparse_after(d, config, 0);
  build_mla(d, draft);
}

void refuse_deepseek_v4(const Config& config, Draft&) {
  config.refuse("DeepSeek V4 compresses its KV cache along the sequence ('compress_ratios'), which "
                "is not modelled yet; give your engine's own figure for a like model with "
                "--kv-bytes-per-token");
}

void refuse_rwkv(const Config& config, Draft&) {
  config.refuse("RWKV has no attention and no KV cache, only a recurrent state, and its layers are "
                "not modelled");
}

} // namespace breakeven::model
