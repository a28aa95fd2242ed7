#include "support/catch.hpp"

#include "model/describe.hpp"
#include "model/files.hpp"

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

json tiny() {
  return {{"model_type", "llama"},    {"hidden_size", 512},
          {"num_hidden_layers", 4},   {"num_attention_heads", 8},
          {"num_key_value_heads", 2}, {"intermediate_size", 1024},
          {"vocab_size", 1000},       {"max_position_embeddings", 8192},
          {"torch_dtype", "bfloat16"}};
}

bool assumes(const model::Architecture& m, const std::string& part) {
  for (const std::string& sentence : m.assumptions)
    if (sentence.find(part) != std::string::npos) return true;
  return false;
}

} // namespace

TEST_CASE("head_dim counts when given, and is hidden / heads when not or null") {
  json config = tiny();
  CHECK(read(config).full_bytes_per_token() == 4 * 2 * 2 * 64 * 2);
  config["head_dim"] = 128;
  CHECK(read(config).full_bytes_per_token() == 4 * 2 * 2 * 128 * 2);
  config["head_dim"] = nullptr;
  CHECK(read(config).full_bytes_per_token() == 4 * 2 * 2 * 64 * 2);
}

TEST_CASE("null KV heads mean as many as heads") {
  json config = tiny();
  config["num_key_value_heads"] = nullptr;
  CHECK(read(config).full_bytes_per_token() == 4 * 2 * 8 * 64 * 2);
}

TEST_CASE("decoy keys do not count") {
  json config = tiny();
  const std::int64_t plain = read(config).full_bytes_per_token();
  config["vision_config"] = {{"num_heads", 99}, {"hidden_size", 7}, {"num_hidden_layers", 3}};
  config["attn_config"] = {{"kv_n_heads", 5}};
  CHECK(read(config).full_bytes_per_token() == plain);

  json latent = test::config("deepseek-v3");
  latent["num_key_value_heads"] = 1;
  latent["head_dim"] = 64; // the rope part alone, as GLM-5 has it
  CHECK(read(latent).full_bytes_per_token() == 70272);
}

TEST_CASE("a nested null dtype falls back to the outer one") {
  json outer = {{"model_type", "some_new_vlm"}, {"torch_dtype", "float16"}};
  outer["text_config"] = tiny();
  outer["text_config"]["torch_dtype"] = nullptr;
  const model::Architecture m = read(outer);
  CHECK(m.kv_dtype == model::DType::fp16);
  CHECK(m.assumptions.empty());
}

TEST_CASE("a dtype under another name, or none at all") {
  json config = tiny();
  config.erase("torch_dtype");
  config["dtype"] = "float16";
  CHECK(read(config).kv_dtype == model::DType::fp16);
  config.erase("dtype");
  const model::Architecture m = read(config);
  CHECK(m.kv_dtype == model::DType::bf16);
  CHECK(assumes(m, "names no element type"));
  config["torch_dtype"] = "float32";
  CHECK(read(config).full_bytes_per_token() == 4 * 2 * 2 * 64 * 4);
  CHECK(assumes(read(config), "--kv-dtype bf16"));
  config["torch_dtype"] = "float17";
  CHECK_THAT(refusal(config), Contains("'float17' is not known"));
}

TEST_CASE("a window that is switched off, or never binds, is none") {
  json config = test::config("qwen2.5-7b");
  config["sliding_window"] = 4096;
  CHECK(window_terms(read(config)).empty()); // use_sliding_window is false
  config["use_sliding_window"] = true;
  config["max_window_layers"] = 20;
  const auto terms = window_terms(read(config));
  REQUIRE(terms.size() == 1);
  CHECK(terms[0].layers == 8);
  config["sliding_window"] = 131072;
  CHECK(window_terms(read(config)).empty()); // as long as the longest prompt

  CHECK(window_terms(model::read_architecture(config_path("phi-3.5-mini"))).empty());
}

TEST_CASE("Mistral: a null window is none, an absent key has the library's default") {
  json config = test::config("mistral-7b-v0.3");
  CHECK(window_terms(read(config)).empty());
  config.erase("sliding_window");
  const model::Architecture m = read(config);
  REQUIRE(window_terms(m).size() == 1);
  CHECK(window_terms(m)[0].window_tokens == 4096);
  CHECK(assumes(m, "sliding_window"));
}

TEST_CASE("layer patterns that only the model_type implies") {
  CHECK(window_terms(read(test::config("gemma-2-9b")))[0].layers == 21);
  CHECK(window_terms(read(test::config("gemma-3-27b-text")))[0].layers == 52);
  CHECK(window_terms(read(test::config("llama-4-scout-17b-16e")))[0].layers == 36);
  json cohere = test::config("command-r-v01");
  cohere["model_type"] = "cohere2";
  cohere["max_position_embeddings"] = 131072;
  cohere["sliding_window"] = 4096;
  CHECK(window_terms(read(cohere))[0].layers == 30);
}

TEST_CASE("layer lists longer than the layer count are cut, shorter ones refused") {
  json config = test::config("gpt-oss-20b");
  config["layer_types"].push_back("sliding_attention");
  config["layer_types"].push_back("sliding_attention");
  CHECK(read(config).full_bytes_per_token() == 24576);
  config["layer_types"] = json::array({"full_attention"});
  CHECK_THAT(refusal(config), Contains("describes 1 of 24 layers"));
  json unknown = test::config("gpt-oss-20b");
  unknown["layer_types"][3] = "strided_attention";
  CHECK_THAT(refusal(unknown), Contains("strided_attention"));
}

TEST_CASE("Kimi's layer lists count from 1") {
  json config = {
      {"model_type", "kimi_linear"}, {"hidden_size", 2304},        {"num_hidden_layers", 8},
      {"num_attention_heads", 32},   {"num_key_value_heads", 32},  {"intermediate_size", 9216},
      {"vocab_size", 163840},        {"kv_lora_rank", 512},        {"q_lora_rank", nullptr},
      {"qk_nope_head_dim", 128},     {"qk_rope_head_dim", 64},     {"v_head_dim", 128},
      {"num_experts", 256},          {"num_experts_per_token", 8}, {"moe_intermediate_size", 1024},
      {"num_shared_experts", 1},     {"first_k_dense_replace", 1}, {"dtype", "bfloat16"}};
  config["linear_attn_config"] = {{"full_attn_layers", {4, 8}},
                                  {"kda_layers", {1, 2, 3, 5, 6, 7}},
                                  {"head_dim", 128},
                                  {"num_heads", 32},
                                  {"short_conv_kernel_size", 4}};
  const model::Architecture m = read(config);
  CHECK(m.full_bytes_per_token() == 2 * 576 * 2);
  // q, k and v convolutions in bf16, the state in fp32.
  CHECK(m.state_bytes() == 6 * (3 * 3 * 32 * 128 * 2 + 32 * 128 * 128 * 4));
  config["linear_attn_config"]["full_attn_layers"] = {0, 4};
  CHECK_THAT(refusal(config), Contains("counts from 1"));
}

TEST_CASE("keys and values of different size") {
  const model::Architecture m = read(test::config("mimo-v2-flash"));
  CHECK(m.full_bytes_per_token() == 9 * 4 * (192 + 128) * 2);
}

TEST_CASE("an FP8 cache that only a side file names") {
  const Folder folder;
  const std::string text = test::config("llama-3.1-70b-instruct-fp8").dump();
  const std::string path = folder.write("config.json", text);
  CHECK(model::read_architecture(path).full_bytes_per_token() == 327680);
  static_cast<void>(
      folder.write("hf_quant_config.json", R"({"quantization": {"kv_cache_quant_algo": "FP8"}})"));
  const model::Architecture m = model::read_architecture(folder.path(""));
  CHECK(m.full_bytes_per_token() == 163840);
  CHECK(m.kv_dtype == model::DType::fp8);
  static_cast<void>(folder.write("hf_quant_config.json", "garbage"));
  CHECK_THROWS_WITH(model::read_architecture(path), Contains("hf_quant_config.json"));
}

TEST_CASE("FP8 weights alone do not change the cache; a kv_cache_scheme does") {
  CHECK(read(test::config("qwen3-32b-fp8")).kv_dtype == model::DType::bf16);
  CHECK(read(test::config("qwen3-32b-fp8")).weight_dtype == model::DType::fp8);
  CHECK(read(test::config("kimi-k2.5-nvfp4")).kv_dtype == model::DType::fp8);
}

TEST_CASE(
    "Infinity and NaN do no harm where nobody asks for them, and are refused where one does") {
  std::string text = tiny().dump();
  text.insert(1, R"("a": Infinity, "b": [-Infinity, NaN], )");
  CHECK(read_text(text).layers == 4);
  text.insert(1, R"("head_dim": Infinity, )");
  CHECK_THAT(refusal(text), Contains("'head_dim' must be a positive whole number"));
}

TEST_CASE("layers without a cache") {
  json config = {{"model_type", "nemotron-nas"},
                 {"hidden_size", 1024},
                 {"num_hidden_layers", 3},
                 {"num_attention_heads", 16},
                 {"num_key_value_heads", nullptr},
                 {"intermediate_size", nullptr},
                 {"vocab_size", 1000},
                 {"torch_dtype", "bfloat16"}};
  const json full = {{"n_heads_in_group", 8}, {"no_op", false}, {"replace_with_linear", false}};
  const json none = {
      {"n_heads_in_group", nullptr}, {"no_op", true}, {"replace_with_linear", false}};
  const json mlp = {{"ffn_mult", 2.625}, {"no_op", false}, {"replace_with_linear", false}};
  config["block_configs"] = {{{"attention", full}, {"ffn", mlp}},
                             {{"attention", none}, {"ffn", mlp}},
                             {{"attention", full}, {"ffn", mlp}}};
  const model::Architecture m = read(config);
  CHECK(m.full_bytes_per_token() == 2 * 2 * 2 * 64 * 2);
  REQUIRE(m.kinds.size() == 2);
  CHECK(m.kinds[0].mlp.intermediate == 1792); // 2/3 x 2.625 x 1024, a multiple of 256
  config["block_configs"].erase(2);
  CHECK_THAT(refusal(config), Contains("2 of 3 layers"));
}

TEST_CASE("layers that share an earlier layer's cache add nothing") {
  json config = {{"model_type", "gemma4_text"}, {"hidden_size", 512},
                 {"num_hidden_layers", 4},      {"num_attention_heads", 8},
                 {"num_key_value_heads", 2},    {"head_dim", 64},
                 {"global_head_dim", 128},      {"intermediate_size", 1024},
                 {"vocab_size", 1000},          {"max_position_embeddings", 8192},
                 {"sliding_window", 512},       {"num_kv_shared_layers", 2},
                 {"dtype", "bfloat16"}};
  config["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention",
                           "full_attention"};
  const model::Architecture m = read(config);
  CHECK(m.full_bytes_per_token() == 2 * 2 * 128 * 2);
  CHECK(summarise_windows(m).bytes_per_token == 2 * 2 * 64 * 2);
  CHECK(summarise_windows(m).layers == 1);
}

TEST_CASE("a nested text model leaves library defaults out; a file of its own may not") {
  json outer = {{"model_type", "llava"}, {"torch_dtype", "float16"}};
  outer["text_config"] = {{"model_type", "llama"}, {"vocab_size", 32064}};
  const model::Architecture m = read(outer);
  CHECK(m.full_bytes_per_token() == 524288);
  CHECK(assumes(m, "text_config.hidden_size"));

  for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads",
                          "intermediate_size", "vocab_size"}) {
    json config = tiny();
    config.erase(key);
    CHECK_THAT(refusal(config), Contains(std::string("'") + key + "' is missing"));
  }
}

TEST_CASE("an unknown model_type is refused by name") {
  json config = tiny();
  config["model_type"] = "flying_circus";
  CHECK_THAT(refusal(config), Contains("'flying_circus' is not known"));
  config.erase("model_type");
  CHECK_THAT(refusal(config), Contains("neither 'model_type' nor 'architectures'"));
  config["architectures"] = {"Qwen3ForCausalLM"};
  CHECK(read(config).family == "qwen3");
}
