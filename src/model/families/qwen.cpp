#include "model/families/families.hpp"

namespace breakeven::model {
namespace {

/// Qwen2 and Qwen3: windows count only when switched on, and only from layer `max_window_layers`.
void set_qwen_windows(Decoder& d, const Config& config, Draft& draft) {
  if (!config.flag("use_sliding_window", false)) return;
  const std::int64_t window = config.count("sliding_window", 4096);
  const std::int64_t first = config.size("max_window_layers", 28);
  set_windows(d, config, draft, window, [&](std::int64_t i) { return i >= first; });
}

} // namespace

void read_qwen2(const Config& config, Draft& draft) {
  Decoder d =
      read_decoder(config, draft, {.kv_heads = 32, .intermediate = 22016, .vocabulary = 151936});
  d.attention.q_bias = d.attention.k_bias = d.attention.v_bias = true;
  set_qwen_windows(d, config, draft);
  build(d, draft);
}

void read_qwen3(const Config& config, Draft& draft) {
  Decoder d =
      read_decoder(config, draft,
                   {.kv_heads = 32, .intermediate = 22016, .vocabulary = 151936, .head_dim = 128});
  AttentionSpec& spec = d.attention;
  spec.q_bias = spec.k_bias = spec.v_bias = spec.o_bias = config.flag("attention_bias", false);
  add_head_norms(d);
  set_qwen_windows(d, config, draft);
  build(d, draft);
}

} // namespace breakeven::model
