#include "support/catch.hpp"

#include "cli/command.hpp"
#include "profile/profile.hpp"

#include <csignal>
#include <nlohmann/json.hpp>

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;

namespace {

/// A file of this machine whose claims cannot be true.
profile::BreakEvenFile false_claims(profile::BreakEvenFile file) {
  for (profile::Tier& tier : file.tiers) {
    if (!tier.load) continue;
    const bool wins = tier.break_even.verdict == profile::Verdict::always;
    tier.break_even.verdict = wins ? profile::Verdict::never : profile::Verdict::always;
    tier.break_even.tokens = tier.break_even.lo_tokens = tier.break_even.hi_tokens =
        wins ? 0 : file.calibrated_lengths.front();
  }
  return file;
}

void check_document(const nlohmann::json& document) {
  CHECK(document["points"].size() > 0);
  for (const auto& point : document["points"]) {
    CHECK(point["hit"]["measured_s"].get<double>() >= point["measured_load_s"].get<double>() * 0.2);
    CHECK(point["recompute"]["samples_s"].size() > 0);
  }
  CHECK(document["worst_error"].get<double>() >= document["median_error"].get<double>());
}

} // namespace

TEST_CASE("verify tries what calibrate found, and notices claims that do not hold") {
  const Sandbox box;
  const Result made = box.run("breakeven calibrate --model '" BREAKEVEN_TEST_DATA
                              "/models/tiny.json' --max-prefix 2k --chunk-tokens 512 --budget 8s "
                              "--tier memory --quiet -o be.json");
  if (made.exit_code != 0) {
    WARN("this machine is too busy to calibrate: " << made.err);
    return;
  }
  const Result first = box.run("breakeven verify be.json --budget 5s --json");
  INFO(first.out << first.err);
  CHECK((first.exit_code == 0 || first.exit_code == 1 || first.exit_code == 5));
  const nlohmann::json document = nlohmann::json::parse(first.out);
  check_document(document);
  CHECK(document["differences"].empty());
  CHECK(document["tiers"][0]["name"] == "memory");
  CHECK(document["exit_code"] == first.exit_code);

  const profile::BreakEvenFile file = profile::read_file((box.path() / "be.json").string());
  profile::write_file(false_claims(file), (box.path() / "false.json").string());
  const Result second = box.run("breakeven verify false.json --budget 5s");
  INFO(second.out << second.err);
  CHECK(second.exit_code != 0);
  CHECK_THAT(second.out, Contains("memory: moved") || Contains("memory: cannot say"));
  CHECK_THAT(second.out, Contains("left out: hits in prompts of 8,192 tokens"));
  CHECK(box.entries() == 2); // no scratch file survives
}

TEST_CASE("verify says what is wrong with a file, a tier, a model and a device") {
  const Sandbox box;
  box.write("broken.json", "{");
  CHECK(box.run("breakeven verify broken.json").exit_code == 3);
  CHECK(box.run("breakeven verify none.json").exit_code == 3);
  const std::string published =
      "breakeven verify '" BREAKEVEN_SOURCE_DIR "/profiles/published/h100-qwen3-4b.json' ";
  const Result tier = box.run(published + "--tier tape");
  CHECK(tier.exit_code == 2);
  CHECK_THAT(tier.err, Contains("memory") && Contains("ssd"));
  CHECK(box.run(published + "--budget 1s").exit_code == 2);
  CHECK(box.run(published + "--model llama-3.2-1b").exit_code == 3);
  const Result nowhere = box.run(published + "--tier ssd");
  CHECK(nowhere.exit_code == 4);
  CHECK_THAT(nowhere.err, Contains("--tier ssd="));
  CHECK(box.run(published + "--tier ssd=file:no/such/directory").exit_code == 4);
}

TEST_CASE("an interrupted verification leaves no scratch and says so") {
  const Sandbox box;
  const Result result = box.run(
      "{ '" BREAKEVEN_BINARY "' verify '" BREAKEVEN_SOURCE_DIR
      "/profiles/published/h100-llama-3.2-3b.json' --tier ssd=file:. --budget 60s & pid=$!; "
      "sleep 2; kill -INT $pid; wait $pid; }");
  INFO(result.err);
  CHECK(result.exit_code == 130);
  CHECK_THAT(result.err, Contains("interrupted"));
  CHECK(box.entries() == 0);
}
