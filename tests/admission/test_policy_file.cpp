#include "support/catch.hpp"

#include "admission/sample.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace breakeven;
using namespace sample;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {
nlohmann::json edited(const std::string& pointer, nlohmann::json value) {
  nlohmann::json json = nlohmann::json::parse(to_json(plain()));
  json[nlohmann::json::json_pointer(pointer)] = std::move(value);
  return json;
}
nlohmann::json without(const std::string& parent, const std::string& key) {
  nlohmann::json json = nlohmann::json::parse(to_json(plain()));
  json[nlohmann::json::json_pointer(parent)].erase(key);
  return json;
}
} // namespace

TEST_CASE("a file and its values make the same policy") {
  std::mt19937_64 random(20);
  for (int i = 0; i < 300; ++i) {
    const File file = random_file(random, 0.1);
    const Policy direct = make_policy(file);
    const PolicyFile read = parse_policy(to_json(file));
    const Query query = to_query(random_request(random, file, 3));
    const Decision a = decide(direct, query), b = decide(*read.policy, query);
    REQUIRE(a.load == b.load);
    REQUIRE(a.load_tokens == b.load_tokens);
    REQUIRE(a.load_s == b.load_s);
    REQUIRE(a.recompute_s == b.recompute_s);
  }
}

TEST_CASE("the facts of a file are kept") {
  File file = plain();
  file.tiers.push_back(TierData{});
  file.tiers[1].name = "file:/kv";
  file.tiers[1].verdict = TierVerdict::uncalibrated;
  const PolicyFacts facts = parse_policy(to_json(file)).facts;
  CHECK(facts.status == "measured");
  CHECK(facts.fingerprint == "abc123");
  CHECK(facts.model == "llama-3.2-1b");
  CHECK(facts.kv_dtype == "bf16");
  CHECK(facts.chunk_tokens == 2048);
  CHECK(facts.tiers == std::vector<std::string>{"memory", "file:/kv"});
  CHECK(facts.tier_reasons == std::vector<std::string>{"", "the device is missing"});
}

TEST_CASE("what is wrong with a file is named by its path") {
  const struct {
    nlohmann::json json;
    const char* expected;
  } cases[] = {
      {edited("/schema/version", "2.0.0"), "schema.version is '2.0.0'"},
      {edited("/schema/version", "10.0.0"), "schema.version is '10.0.0'"},
      {edited("/schema/name", "other"), "schema.name is not 'breakeven'"},
      {without("", "schema"), "schema is missing"},
      {without("/model", "kv_dtype"), "model.kv_dtype is missing"},
      {edited("/model/chunk_tokens", 0), "model.chunk_tokens must be at least 1"},
      {edited("/model/chunk_tokens", "2048"), "model.chunk_tokens must be a whole number"},
      {edited("/model/chunk_tokens", 2048.5), "model.chunk_tokens must be a whole number"},
      {edited("/model/block_tokens", -16), "model.block_tokens must be at least 1"},
      {edited("/model/kv_bytes_per_token", 18446744073709551615U),
       "model.kv_bytes_per_token is too large"},
      {edited("/prefill/dense/seconds/1/median_s", -1.0),
       "prefill.dense.seconds[1].median_s is out of range"},
      {edited("/prefill/dense/seconds/1/median_s", nullptr),
       "prefill.dense.seconds[1].median_s must be a number"},
      {edited("/prefill/dense/new_tokens/1", 1), "prefill.dense.new_tokens must ascend"},
      {edited("/prefill/attention/0/seconds/2", nlohmann::json::array()),
       "prefill.attention[0].seconds[2] must have 4 elements"},
      {edited("/prefill/attention/0/context_tokens/0", 1),
       "prefill.attention[0] must begin with context 0"},
      {edited("/tiers/0/load/bandwidth/0/bandwidth_Bps/value", 0), "tiers[0] has a bandwidth"},
      {edited("/tiers/0/load/bandwidth/0/in_flight", 0),
       "tiers[0].load.bandwidth[0].in_flight must be at least 1"},
      {without("/tiers/0", "load"), "tiers[0].load is missing"},
      {edited("/tiers/0/break_even/verdict", "maybe"), "tiers[0].break_even.verdict is not one of"},
      {edited("/tiers/0/layout/chunk_tokens", 0),
       "tiers[0].layout.chunk_tokens must be at least 1"},
      {edited("/tiers/0/name", std::string(500, 'x')), "tiers[0] has a tier name longer"},
      {edited("/tiers", 5), "tiers must be an array"},
      {edited("/calibrated_lengths/0", "x"), "calibrated_lengths[0] must be a whole number"},
  };
  for (const auto& [json, expected] : cases) {
    CHECK_THROWS_WITH(parse_policy(json.dump(), "node.json"),
                      StartsWith("node.json: ") && Contains(expected));
  }
}

TEST_CASE("limits are refused by name, not overrun") {
  File file = plain();
  for (int i = 0; i < 20; ++i) {
    file.tiers.push_back(TierData{});
    file.tiers.back().name = std::to_string(i);
  }
  CHECK_THROWS_WITH(parse_policy(to_json(file)), Contains("tiers must have between 0 and 16"));
  file = plain();
  file.dense_new.clear();
  file.dense.clear();
  for (int i = 1; i <= 64; ++i) {
    file.dense_new.push_back(i * 7);
    file.dense.push_back(1e-3 * i);
  }
  CHECK_THROWS_WITH(parse_policy(to_json(file)), Contains("more points than a policy holds"));
  file = plain();
  file.tiers.push_back(file.tiers[0]);
  CHECK_THROWS_WITH(parse_policy(to_json(file)), Contains("names a tier twice"));
}

TEST_CASE("keys of a newer minor version are ignored") {
  nlohmann::json json = edited("/schema/version", "1.7.2");
  json["brand_new"] = {{"x", 1}};
  json["tiers"][0]["load"]["more"] = 3;
  CHECK_NOTHROW(parse_policy(json.dump()));
}

TEST_CASE("truncated and corrupted text is refused in one sentence") {
  const std::string text = to_json(plain());
  for (std::size_t length = 0; length < text.size(); length += 97)
    CHECK_THROWS_AS(parse_policy(text.substr(0, length)), policy_file_error);
  std::mt19937_64 random(21);
  for (int i = 0; i < 2000; ++i) {
    std::string broken = text;
    for (int k = 0; k < 3; ++k)
      broken[random() % broken.size()] = static_cast<char>(random() % 256);
    try {
      const PolicyFile file = parse_policy(broken);
      const Decision decision = decide(*file.policy, {Tokens(9000), TierId(0), Tokens(8192)});
      REQUIRE(decision.recompute_s == decision.recompute_s);
    } catch (const policy_file_error& error) {
      REQUIRE(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("files that are not there or not files are refused") {
  std::string message;
  CHECK(try_load_policy("/does/not/exist.json", message).policy == nullptr);
  CHECK_THAT(message, Contains("/does/not/exist.json"));
  CHECK_THROWS_AS(load_policy("/"), policy_file_error);
  CHECK_THROWS_AS(load_policy("/dev/null"), policy_file_error);
  char path[] = "policy-XXXXXX";
  const int descriptor = mkstemp(path);
  REQUIRE(descriptor >= 0);
  close(descriptor);
  std::ofstream(path) << to_json(plain());
  CHECK_FALSE(load_policy(path).policy->empty());
  std::remove(path);
}

TEST_CASE("the stored sample, which consumers in other languages read, is what the code writes") {
  std::ifstream stream(BREAKEVEN_SOURCE_DIR "/tests/admission/sample.json");
  REQUIRE(stream);
  const nlohmann::json stored = nlohmann::json::parse(stream);
  CHECK(stored == nlohmann::json::parse(to_json(plain())));
}
