// Phi 1 to 4 and Phi-MoE. Defaults: transformers' configuration_*.py.
#include "model/families/families.hpp"

namespace breakeven::model {
namespace {

void build_phi(Decoder& d, const Config& config, Draft& draft) {
  set_bias(d, true, true);
  d.gated = false;
  d.mlp_bias = true;
  d.norms = 1;
  d.norm_width = 2;
  d.head_bias = true;
  d.activation = activation_of(config, "gelu_new");
  if (config.flag("qk_layernorm", false)) {
    add_head_norms(d);
    add_head_norms(d); // LayerNorms: weight and bias
  }
  build(d, draft);
}

} // namespace

void read_phi(const Config& config, Draft& draft) {
  Decoder d = read_decoder(
      config, draft, {.hidden = 2048, .layers = 24, .intermediate = 8192, .vocabulary = 51200});
  build_phi(d, config, draft);
}

void read_phi_msft(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft, {.vocabulary = 51200, .mlp_ratio = 4});
  build_phi(d, config, draft);
}

void read_phi3(const Config& config, Draft& draft) {
  Decoder d =
      read_decoder(config, draft, {.hidden = 3072, .intermediate = 8192, .vocabulary = 32064});
  const std::int64_t window = config.size("sliding_window", 0);
  set_windows(d, config, draft, window, [&](std::int64_t) { return window > 0; });
  build(d, draft);
}

void read_phimoe(const Config& config, Draft& draft) {
  const Defaults defaults{.kv_heads = 8,
                          .intermediate = 6400,
                          .vocabulary = 32064,
                          .experts = 16,
                          .experts_per_token = 2};
  Decoder d = read_decoder(config, draft, defaults);
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  d.norm_width = 2;
  d.head_bias = config.flag("lm_head_bias", false);
  const std::int64_t window = config.size("sliding_window", 0);
  set_windows(d, config, draft, window, [&](std::int64_t) { return window > 0; });
  read_experts(d, config, draft, defaults);
  d.moe.intermediate = d.intermediate;
  set_sparse(d, config, [](std::int64_t) { return true; });
  build(d, draft);
}

} // namespace breakeven::model
