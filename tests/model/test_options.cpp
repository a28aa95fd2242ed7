#include "support/catch.hpp"

#include "model/describe.hpp"
#include "model/files.hpp"

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;
using model::Architecture;
using model::Gemm;
using model::read_architecture;
using model::ReadOptions;

namespace {

ReadOptions ranks(std::int64_t n) {
  ReadOptions options;
  options.tensor_parallel = n;
  return options;
}

const Gemm& gemm(const Architecture& m, std::size_t kind, const std::string& name) {
  for (const Gemm& each : m.kinds.at(kind).gemms)
    if (each.name == name) return each;
  FAIL("no GEMM " << name);
  return m.kinds.at(kind).gemms.front();
}

} // namespace

TEST_CASE("tensor parallelism divides heads, KV heads and widths") {
  const Architecture m = read_architecture("llama-3.1-70b", ranks(4));
  CHECK(m.full_bytes_per_token() == 327680 / 4);
  CHECK(gemm(m, 0, "qkv").n == (64 + 8 + 8) * 128 / 4);
  CHECK(gemm(m, 0, "attention_output").k == 64 * 128 / 4);
  CHECK(gemm(m, 0, "gate_up").n == 2 * 28672 / 4);
  CHECK(m.parameters == 70553706496);
  CHECK(m.block_gemm_parameters_per_token() == 68451041280 / 4);
}

TEST_CASE("KV heads are replicated when ranks outnumber them") {
  const Architecture m = read_architecture("llama-3.1-70b", ranks(16));
  CHECK(m.full_bytes_per_token() == 327680 / 8);
  CHECK(m.kinds[0].attention.kv_heads == 1);
  CHECK(gemm(m, 0, "qkv").n == (4 + 1 + 1) * 128);
}

TEST_CASE("a latent is replicated on every rank") {
  const Architecture m = read_architecture("deepseek-v3", ranks(8));
  CHECK(m.full_bytes_per_token() == 70272);
  CHECK(gemm(m, 1, "expert_gate_up").n == 2 * 2048 / 8);
  CHECK(gemm(m, 1, "router").n == 256);
}

TEST_CASE("ranks that do not divide are a usage error that says what they do not divide") {
  CHECK_THROWS_WITH(read_architecture("llama-3.1-8b", ranks(3)), Contains("32 attention heads"));
  CHECK_THROWS_WITH(read_architecture("qwen2.5-7b", ranks(8)), Contains("28 attention heads"));
  CHECK_THROWS_WITH(read_architecture("llama-3.1-8b", ranks(0)), Contains("--tp"));
  try {
    static_cast<void>(read_architecture("llama-3.1-8b", ranks(3)));
  } catch (const error& failure) {
    CHECK(failure.kind() == error_kind::usage);
  }
}

TEST_CASE("recurrent state is divided too") {
  const Architecture whole = read_architecture("nemotron-3-nano");
  const Architecture rank = read_architecture("nemotron-3-nano", ranks(2));
  CHECK(rank.state_bytes() == whole.state_bytes() / 2);
  CHECK(rank.is_hybrid());
}

TEST_CASE("overrides change the figures and are recorded") {
  ReadOptions options;
  options.kv_dtype = "fp8";
  const Architecture small = read_architecture("llama-3.1-8b", options);
  CHECK(small.full_bytes_per_token() == 65536);
  REQUIRE(small.overrides.size() == 1);
  CHECK(small.overrides[0] == "kv_dtype=fp8 (--kv-dtype)");
  options.kv_dtype = "fp7";
  CHECK_THROWS_WITH(read_architecture("llama-3.1-8b", options), Contains("'fp7' is not known"));

  ReadOptions own;
  own.kv_bytes_per_token = 1000;
  const Architecture given = read_architecture("gemma-2-9b", own);
  CHECK(given.full_bytes_per_token() == 1000);
  CHECK(given.kv_bytes(10) == 10 * 1000 + 10 * 172032); // windowed layers stay
  CHECK(given.overrides.size() == 1);
}

TEST_CASE("DeepSeek's cache decompressed") {
  ReadOptions options;
  options.mla_expanded = true;
  const Architecture m = read_architecture("deepseek-v3", options);
  CHECK(m.full_bytes_per_token() == 61 * 128 * (192 + 128) * 2);
  CHECK(m.overrides.size() == 1);
  CHECK(m.parameters == 671026419200);
  CHECK_THROWS_WITH(read_architecture("llama-3.1-8b", options), Contains("no multi-head latent"));
}

TEST_CASE("windows stop growing at their size") {
  const Architecture m = read_architecture("gpt-oss-20b");
  CHECK(m.kv_bytes(127) + 24576 * 2 == m.kv_bytes(128));
  CHECK(m.kv_bytes(128) + 24576 == m.kv_bytes(129));
  CHECK(m.kv_bytes(0) == 0);
}

TEST_CASE("attention FLOPs count the keys that each query sees") {
  const Architecture full = read_architecture("llama-3.2-1b");
  const double one_key = 2.0 * 32 * 128 * 16;
  CHECK(full.attention_flops(0, 1) == one_key);
  CHECK(full.attention_flops(0, 4) == 10 * one_key);
  CHECK(full.attention_flops(100, 2) == (101 + 102) * one_key);
  // A prefill in steps sees the same keys as one in a piece.
  const Architecture mixed = read_architecture("gpt-oss-20b");
  CHECK(mixed.attention_flops(0, 1000) ==
        Approx(mixed.attention_flops(0, 100) + mixed.attention_flops(100, 900)));
  const Architecture chunked = model::read_architecture(config_path("llama-4-scout-17b-16e"));
  CHECK(chunked.attention_flops(0, 20000) ==
        Approx(chunked.attention_flops(0, 8000) + chunked.attention_flops(8000, 12000)));
}

TEST_CASE("the description has every column, null where a quantity does not apply") {
  const auto json = model::describe(read_architecture("llama-3.1-8b"), {8192});
  CHECK(json.at("kv_bytes_at_8192") == 1073741824);
  CHECK(json.at("sliding_layers").is_null());
  CHECK(json.at("state_bytes_per_sequence").is_null());
  CHECK(json.at("kinds").size() == 1);
  CHECK(json.at("kinds")[0].at("gemms").size() == 4);
  CHECK(json.at("flops").at("linear_per_token") == 2.0 * 6979321856);
  const auto hybrid = model::describe(read_architecture("qwen3-next-80b-a3b"), {});
  CHECK(hybrid.at("prefix_needs_saved_state") == true);
  const auto refused = model::describe_refusal("x\x1b", "because");
  CHECK(refused.at("status") == "refused");
  CHECK(refused.at("reason") == "because");
}
