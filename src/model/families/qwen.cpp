// Qwen 1, 2, 2.5, 3 and their mixtures of experts. Defaults: transformers' configuration_*.py;
// Qwen 1 by its own configuration_qwen.py.
#include "model/families/families.hpp"

#include <algorithm>

namespace breakeven::model {
namespace {

/// Windows count only when switched on, and only from layer `max_window_layers`.
void set_qwen_windows(Decoder& d, const Config& config, Draft& draft) {
  if (!config.flag("use_sliding_window", false)) return;
  const std::int64_t window = config.count("sliding_window", 4096);
  const std::int64_t first = config.size("max_window_layers", 28);
  set_windows(d, config, draft, window, [&](std::int64_t i) { return i >= first; });
}

void set_qwen_sparse(Decoder& d, const Config& config) {
  const std::vector<std::int64_t> dense = config.numbers("mlp_only_layers");
  const std::int64_t step = config.count("decoder_sparse_step", 1);
  set_sparse(d, config, [&](std::int64_t i) {
    return (i + 1) % step == 0 && std::find(dense.begin(), dense.end(), i) == dense.end();
  });
}

} // namespace

void read_qwen(const Config& config, Draft& draft) {
  Decoder d =
      read_decoder(config, draft, {.hidden = 4096, .intermediate = 22016, .vocabulary = 151936});
  d.head_dim = config.count("kv_channels", d.head_dim);
  d.attention.qk_head_dim = d.attention.v_head_dim = d.head_dim;
  set_bias(d, true, !config.flag("no_bias", true));
  d.intermediate /= 2; // the file counts gate and up projection together
  build(d, draft);
}

namespace {

void read_qwen2_with(const Config& config, Draft& draft, const Defaults& defaults) {
  Decoder d = read_decoder(config, draft, defaults);
  set_bias(d, true, false);
  set_qwen_windows(d, config, draft);
  build(d, draft);
}

void read_qwen3_moe_with(const Config& config, Draft& draft, const Defaults& defaults) {
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  add_head_norms(d);
  set_qwen_windows(d, config, draft);
  read_experts(d, config, draft, defaults);
  set_qwen_sparse(d, config);
  build(d, draft);
}

} // namespace

void read_qwen2(const Config& config, Draft& draft) {
  read_qwen2_with(config, draft, {.kv_heads = 32, .intermediate = 22016, .vocabulary = 151936});
}

void read_qwen2_vl(const Config& config, Draft& draft) {
  read_qwen2_with(config, draft,
                  {.hidden = 8192,
                   .layers = 80,
                   .heads = 64,
                   .kv_heads = 8,
                   .intermediate = 29568,
                   .vocabulary = 152064});
}

void read_qwen3(const Config& config, Draft& draft) {
  Decoder d =
      read_decoder(config, draft,
                   {.kv_heads = 32, .intermediate = 22016, .vocabulary = 151936, .head_dim = 128});
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  add_head_norms(d);
  set_qwen_windows(d, config, draft);
  build(d, draft);
}

void read_qwen2_moe(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 2048,
                          .layers = 24,
                          .heads = 16,
                          .kv_heads = 16,
                          .intermediate = 5632,
                          .vocabulary = 151936,
                          .experts = 60,
                          .experts_per_token = 4,
                          .moe_intermediate = 1408};
  Decoder d = read_decoder(config, draft, defaults);
  set_bias(d, config.flag("qkv_bias", true), false);
  if (config.flag("use_sliding_window", false)) {
    const std::int64_t first = config.size("max_window_layers", 28);
    set_windows(d, config, draft, config.count("sliding_window", 4096),
                [&](std::int64_t i) { return i % 2 == 0 && i < first; });
  }
  read_experts(d, config, draft, defaults);
  d.moe.shared_intermediate = draft.library("shared_expert_intermediate_size", 5632);
  d.moe.shared_gate = true;
  set_qwen_sparse(d, config);
  build(d, draft);
}

void read_qwen3_moe(const Config& config, Draft& draft) {
  read_qwen3_moe_with(config, draft,
                      {.hidden = 2048,
                       .layers = 24,
                       .heads = 32,
                       .kv_heads = 4,
                       .intermediate = 6144,
                       .vocabulary = 151936,
                       .experts = 128,
                       .experts_per_token = 8,
                       .moe_intermediate = 768});
}

void read_qwen3_vl_moe(const Config& config, Draft& draft) {
  read_qwen3_moe_with(config, draft,
                      {.hidden = 2048,
                       .layers = 24,
                       .heads = 16,
                       .kv_heads = 16,
                       .intermediate = 5632,
                       .vocabulary = 151936,
                       .experts = 60,
                       .experts_per_token = 4,
                       .moe_intermediate = 1408});
}

} // namespace breakeven::model
