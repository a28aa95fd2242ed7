#include "support/catch.hpp"

#include "cli/command.hpp"

#include <nlohmann/json.hpp>

using namespace breakeven::test;
using Catch::Matchers::Contains;
using nlohmann::json;

TEST_CASE("model prints a card of a bundled model") {
  const Sandbox sandbox;
  const Result card = sandbox.run("breakeven model llama-3.1-8b --tokens 8k");
  CHECK(card.exit_code == 0);
  CHECK_THAT(card.out, Contains("131,072 B (128 KiB)"));
  CHECK_THAT(card.out, Contains("8.03 billion (8,030,261,248)"));
  CHECK_THAT(card.out, Contains("gate_up"));
  CHECK_THAT(sandbox.run("breakeven model --list").out, Contains("kimi-k2.5"));
}

TEST_CASE("model prints JSON with null where a quantity does not apply") {
  const Sandbox sandbox;
  const json whole = json::parse(sandbox.run("breakeven model gpt-oss-20b --json").out);
  CHECK(whole.at("status") == "ok");
  CHECK(whole.at("sliding_layers") == 12);
  CHECK(whole.at("state_bytes_per_sequence").is_null());
  const json rank =
      json::parse(sandbox.run("breakeven model gpt-oss-20b --tp 2 --kv-dtype fp8 --json").out);
  CHECK(rank.at("full_bytes_per_token") == whole.at("full_bytes_per_token").get<int>() / 4);
  CHECK(rank.at("overrides").size() == 1);
}

TEST_CASE("model refuses with a reason, as JSON too, and exit code 3") {
  const Sandbox sandbox;
  sandbox.write("config.json", R"({"model_type": "flying_circus"})");
  const Result plain = sandbox.run("breakeven model .");
  CHECK(plain.exit_code == 3);
  CHECK(plain.out.empty());
  CHECK_THAT(plain.err, Contains("'flying_circus' is not known"));
  const Result structured = sandbox.run("breakeven model config.json --json");
  CHECK(structured.exit_code == 3);
  CHECK(json::parse(structured.out).at("status") == "refused");
  CHECK_THAT(json::parse(structured.out).at("reason").get<std::string>(),
             Contains("flying_circus"));
}

TEST_CASE("model's wrong usage is exit code 2") {
  const Sandbox sandbox;
  CHECK(sandbox.run("breakeven model").exit_code == 2);
  CHECK(sandbox.run("breakeven model no-such-model --json").exit_code == 2);
  CHECK(sandbox.run("breakeven model llama-3.1-8b --tp 3").exit_code == 2);
  CHECK(sandbox.run("breakeven model llama-3.1-8b --tokens 0").exit_code == 2);
  CHECK(sandbox.run("breakeven model llama-3.1-8b --mla expanded").exit_code == 2);
  CHECK(sandbox.run("breakeven model llama-3.1-8b --kv-dtype fp7").exit_code == 2);
}
