#include "model/families/families.hpp"

namespace breakeven::model {
namespace {

/// transformers: LlamaConfig.
constexpr Defaults llama_defaults{};

Decoder read_llama_decoder(const Config& config, Draft& draft, const Defaults& defaults) {
  Decoder d = read_decoder(config, draft, defaults);
  AttentionSpec& spec = d.attention;
  spec.q_bias = spec.k_bias = spec.v_bias = spec.o_bias = config.flag("attention_bias", false);
  d.mlp_bias = config.flag("mlp_bias", false);
  return d;
}

} // namespace

void read_llama(const Config& config, Draft& draft) {
  build(read_llama_decoder(config, draft, llama_defaults), draft);
}

void read_mistral(const Config& config, Draft& draft) {
  // transformers: MistralConfig. A file without the key `sliding_window` has the default of 4096
  // there; a null switches the window off.
  Decoder d = read_llama_decoder(config, draft, {.kv_heads = 8, .intermediate = 14336});
  std::int64_t window = config.size("sliding_window", 0);
  if (!config.contains("sliding_window")) window = draft.library("sliding_window", 4096);
  set_windows(d, config, draft, window, [&](std::int64_t) { return window > 0; });
  build(d, draft);
}

} // namespace breakeven::model
