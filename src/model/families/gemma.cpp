// Gemma 1, 2 and 3. Defaults: transformers' configuration_gemma*.py.
#include "model/families/families.hpp"

namespace breakeven::model {
namespace {

Decoder read_common(const Config& config, Draft& draft, const Defaults& defaults) {
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  d.activation = Activation::gelu;
  return d;
}

} // namespace

void read_gemma(const Config& config, Draft& draft) {
  build(read_common(config, draft,
                    {.hidden = 3072,
                     .layers = 28,
                     .heads = 16,
                     .kv_heads = 16,
                     .intermediate = 24576,
                     .vocabulary = 256000,
                     .head_dim = 256,
                     .tied = true}),
        draft);
}

void read_gemma2(const Config& config, Draft& draft) {
  Decoder d = read_common(config, draft,
                          {.hidden = 2304,
                           .layers = 26,
                           .heads = 8,
                           .kv_heads = 4,
                           .intermediate = 9216,
                           .vocabulary = 256000,
                           .head_dim = 256,
                           .tied = true});
  d.norms = 4;
  set_windows(d, config, draft, config.count("sliding_window", 4096),
              [](std::int64_t i) { return i % 2 == 0; });
  build(d, draft);
}

void read_gemma3(const Config& config, Draft& draft) {
  const Defaults defaults{.hidden = 2304,
                          .layers = 26,
                          .heads = 8,
                          .kv_heads = 4,
                          .intermediate = 9216,
                          .vocabulary = 262208,
                          .head_dim = 256,
                          .tied = true,
                          .vocabulary_optional = true};

  Decoder d = read_common(config, draft, defaults);
  add_head_norms(d);
  d.norms = 4;
  const std::int64_t every = config.count("sliding_window_pattern|_sliding_window_pattern", 6);
  set_windows(d, config, draft, draft.library("sliding_window", 4096),
              [&](std::int64_t i) { return (i + 1) % every != 0; });
  build(d, draft);
}

} // namespace breakeven::model
