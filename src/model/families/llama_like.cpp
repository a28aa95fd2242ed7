// Models that are Llama with a few switches of their own. Defaults: transformers'
// configuration_*.py, or the model's own where it ships its code.
#include "model/families/families.hpp"

namespace breakeven::model {

void read_internlm(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft, {.vocabulary = 103168});
  const bool bias = config.flag("bias", true);
  set_bias(d, bias, bias);
  build(d, draft);
}

void read_internlm2(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft, {.vocabulary = 103168});
  const bool bias = config.flag("bias", true);
  set_bias(d, bias, bias);
  build(d, draft);
}

void read_internlm3(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft, {.vocabulary = 128512});
  set_bias(d, config.flag("qkv_bias", false), config.flag("bias", false));
  d.mlp_bias = config.flag("bias", false);
  build(d, draft);
}

void read_baichuan(const Config& config, Draft& draft) {
  build(read_decoder(config, draft, {.vocabulary = 125696}), draft);
}

void read_minicpm(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft, {.tied = true});
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  if (config.size("num_experts", 0) > 0) { // MiniCPM-MoE
    read_experts(d, config, draft, {});
    d.moe.intermediate = d.intermediate;
    set_sparse(d, config, [](std::int64_t) { return true; });
  }
  build(d, draft);
}

void read_smollm3(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft,
                           {.hidden = 2048,
                            .layers = 36,
                            .heads = 16,
                            .kv_heads = 4,
                            .vocabulary = 128256,
                            .tied = true});
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  d.mlp_bias = config.flag("mlp_bias", false);
  if (config.flag("use_sliding_window", false)) {
    const std::vector<std::int64_t> rope = config.numbers("no_rope_layers");
    const std::int64_t every = config.count("no_rope_layer_interval", 4);
    set_windows(d, config, draft, config.size("sliding_window", 0), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      return at < rope.size() ? rope[at] != 0 : (i + 1) % every != 0;
    });
  }
  build(d, draft);
}

void read_seed_oss(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft,
                           {.layers = 64,
                            .heads = 80,
                            .kv_heads = 8,
                            .intermediate = 27648,
                            .vocabulary = 155136,
                            .head_dim = 128});
  set_bias(d, config.flag("attention_bias", true), config.flag("attention_out_bias", false));
  d.mlp_bias = config.flag("mlp_bias", false);
  build(d, draft);
}

void read_exaone(const Config& config, Draft& draft) {
  build(read_decoder(config, draft, {.intermediate = 16384, .vocabulary = 102400}), draft);
}

void read_exaone4(const Config& config, Draft& draft) {
  Decoder d =
      read_decoder(config, draft, {.kv_heads = 32, .intermediate = 16384, .vocabulary = 102400});
  add_head_norms(d);
  // "LLLG" or 4: every fourth layer is global. A null window makes all layers so.
  const nlohmann::json* pattern = config.find("sliding_window_pattern");
  const auto every = pattern != nullptr && pattern->is_string()
                         ? static_cast<std::int64_t>(pattern->get<std::string>().size())
                         : config.size("sliding_window_pattern", 4);
  const std::int64_t window = config.contains("sliding_window")
                                  ? config.size("sliding_window", 0)
                                  : draft.library("sliding_window", 4096);
  if (window > 0 && every > 0)
    set_windows(d, config, draft, window, [&](std::int64_t i) { return (i + 1) % every != 0; });
  build(d, draft);
}

void read_arcee(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft, {.hidden = 2560, .intermediate = 18432});
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  d.gated = false;
  d.mlp_bias = config.flag("mlp_bias", false);
  d.activation = activation_of(config, "relu2");
  build(d, draft);
}

void read_apertus(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft, {.intermediate = 14336, .vocabulary = 131072});
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  add_head_norms(d);
  d.gated = false;
  d.mlp_bias = config.flag("mlp_bias", false);
  d.activation = activation_of(config, "xielu");
  if (config.text("hidden_act", "xielu") == "xielu")
    d.extra_parameters = plus(d.extra_parameters, 2); // its two learnt slopes
  build(d, draft);
}

void read_ernie(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft,
                           {.hidden = 1024,
                            .layers = 18,
                            .heads = 16,
                            .kv_heads = 2,
                            .intermediate = 3072,
                            .vocabulary = 103424,
                            .head_dim = 128,
                            .tied = true});
  const bool bias = config.flag("use_bias", false);
  set_bias(d, bias, bias);
  d.mlp_bias = bias;
  build(d, draft);
}

void read_hunyuan_dense(const Config& config, Draft& draft) {
  Decoder d = read_decoder(config, draft, {.vocabulary = 290943});
  const bool bias = config.flag("attention_bias", false);
  set_bias(d, bias, bias);
  if (config.flag("use_qk_norm", true)) add_head_norms(d);
  build(d, draft);
}

} // namespace breakeven::model
