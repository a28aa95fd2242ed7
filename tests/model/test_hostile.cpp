#include "support/catch.hpp"

#include "model/files.hpp"

#include <cstdint>

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

json tiny() {
  return {{"model_type", "llama"},    {"hidden_size", 512},       {"num_hidden_layers", 4},
          {"num_attention_heads", 8}, {"num_key_value_heads", 2}, {"intermediate_size", 1024},
          {"vocab_size", 1000},       {"torch_dtype", "bfloat16"}};
}

std::string repeat(const std::string& part, std::size_t times) {
  std::string text;
  text.reserve(part.size() * times);
  for (std::size_t i = 0; i < times; ++i)
    text += part;
  return text;
}

} // namespace

TEST_CASE("text that is no config is refused") {
  CHECK_THAT(refusal(std::string()), Contains("is not JSON"));
  CHECK_THAT(refusal(std::string("[]")), Contains("is not a JSON object"));
  CHECK_THAT(refusal(std::string("{}")), Contains("neither 'model_type'"));
  CHECK_THAT(refusal(std::string("{\"model_type\": \"llama\"")), Contains("is not JSON"));
  CHECK_THAT(refusal(std::string("{\"model_type\": \"ll\xff\xfe\"}")), Contains("is not JSON"));
  CHECK_THAT(refusal(std::string("\x7f"
                                 "ELF\0\0\0\1\2\3",
                                 10)),
             Contains("is not JSON"));
}

TEST_CASE("nesting, long numbers and too many values are refused before they are parsed") {
  CHECK_THAT(refusal(repeat("[", 1'000'000)), Contains("nested deeper"));
  CHECK_THAT(refusal(repeat("{\"a\":", 1'000'000)), Contains("nested deeper"));
  CHECK_THAT(refusal("{\"hidden_size\": " + repeat("1", 1'000'000) + "}"),
             Contains("a number of 1000000 characters"));
  CHECK_THAT(refusal("{\"a\": [" + repeat("0,", 2'000'000) + "0]}"),
             Contains("more than 1000000 values"));
  CHECK_THAT(refusal("{\"a\": \"" + repeat("x", 17 << 20) + "\"}"), Contains("bytes large"));
}

TEST_CASE("a 2 GiB file is refused by its size") {
  const Folder folder;
  const std::string path = folder.write("config.json", "{}");
  std::filesystem::resize_file(path, std::uintmax_t{2} << 30);
  CHECK_THROWS_WITH(model::read_architecture(path), Contains("2147483648 bytes large"));
}

TEST_CASE("what is not a regular file is refused") {
  CHECK_THROWS_WITH(model::read_architecture("/dev/zero"), Contains("not a regular file"));
  const Folder folder;
  CHECK_THROWS_WITH(model::read_architecture(folder.path("")), Contains("holds no config.json"));
  CHECK_THROWS_AS(model::read_architecture(""), error);
}

TEST_CASE("duplicate keys are refused") {
  CHECK_THAT(refusal(std::string(R"({"model_type": "llama", "model_type": "qwen2"})")),
             Contains("'model_type' twice"));
  CHECK_THAT(refusal(std::string(R"({"a": {"b": 1, "b": 2}})")), Contains("'b' twice"));
  CHECK_THAT(refusal(std::string(R"({"a": {"b": 1}, "c": {"b": 2}})")), !Contains("twice"));
}

TEST_CASE("counts must be positive whole numbers") {
  for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads",
                          "num_key_value_heads", "intermediate_size", "vocab_size"})
    for (const json& bad : {json(0), json(-8), json(32.5), json("32"), json(true), json::array({8}),
                            json(1e300), json(std::uint64_t{1} << 63)}) {
      json config = tiny();
      config[key] = bad;
      INFO(key << " = " << bad.dump());
      CHECK_THAT(refusal(config), Contains(std::string("'") + key + "' must be"));
    }
}

TEST_CASE("heads that do not divide are refused") {
  json config = tiny();
  config["num_attention_heads"] = 7;
  config["num_key_value_heads"] = 7;
  CHECK_THAT(refusal(config), Contains("not a multiple of 7 attention heads"));
  config = tiny();
  config["num_key_value_heads"] = 3;
  CHECK_THAT(refusal(config), Contains("not a multiple of 3 KV heads"));
  config["num_key_value_heads"] = 16;
  CHECK_THAT(refusal(config), Contains("not a multiple of 16 KV heads"));
}

TEST_CASE("wrong types are refused where they matter") {
  json config = tiny();
  config["attention_bias"] = "yes";
  CHECK_THAT(refusal(config), Contains("'attention_bias' must be true or false"));
  config = tiny();
  config["quantization_config"] = 7;
  CHECK_THAT(refusal(config), Contains("'quantization_config' must be an object"));
  config = tiny();
  config["model_type"] = {{"a", 1}};
  CHECK_THAT(refusal(config), Contains("'model_type' must be a string"));
}

TEST_CASE("sizes whose products leave 64 bits are refused") {
  json config = tiny();
  config["hidden_size"] = config["intermediate_size"] = std::int64_t{1} << 40;
  CHECK_THAT(refusal(config), Contains("does not fit in 64 bits"));
  config = tiny();
  config["num_hidden_layers"] = 1'000'000'000;
  CHECK_THAT(refusal(config), Contains("more than 10000"));
}

TEST_CASE("ten million tokens of a 4 MiB a token model neither wrap nor crash") {
  model::ReadOptions options;
  options.kv_bytes_per_token = std::int64_t{4} << 20;
  const model::Architecture m = read(tiny(), options);
  CHECK(m.kv_bytes(10'000'000) == std::int64_t{10'000'000} * (4 << 20));
  CHECK_THROWS_WITH(m.kv_bytes(std::int64_t{1} << 62), Contains("does not fit in 64 bits"));
}

TEST_CASE("names from a file cannot drive the terminal") {
  json config = tiny();
  config["model_type"] = "\x1b[31mred";
  CHECK_THAT(refusal(config), !Contains("\x1b"));
}
