#include "support/catch.hpp"
#include "support/sample_file.hpp"

#include "breakeven/admission.hpp"
#include "breakeven/policy_file.hpp"
#include "cli/command.hpp"

#include <nlohmann/json.hpp>

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;
using json = nlohmann::json;

TEST_CASE("predict writes a file that show and check know for a prediction") {
  const Sandbox box;
  const Result made =
      box.run("breakeven predict --model llama-3.2-3b --node h100-sxm --tier memory=50GB/s "
              "--tier nvme=4xmicron-9550-pro,shared=8 --fixed 5ms --max-prefix 16k -o p.json");
  CHECK(made.exit_code == 0);
  CHECK_THAT(made.out, Contains("predicted, NOT MEASURED") && Contains("7.00 GB/s") &&
                           Contains("nothing was measured"));
  CHECK_THAT(box.run("breakeven show p.json").out, Contains("predicted, NOT MEASURED"));
  const Result load = box.run("breakeven check p.json --tier memory --cached 8k");
  CHECK(load.exit_code == 0);
  CHECK_THAT(load.out, Contains("not measured here") && Contains("[predicted, not measured]"));
  CHECK(json::parse(box.run("breakeven show p.json --json").out)["status"] == "predicted");

  const PolicyFile policy = load_policy((box.path() / "p.json").string());
  Query query{Tokens(8193)};
  query.add(policy.policy->find_tier("memory"), Tokens(8192), 1);
  const Decision decision = decide(*policy.policy, query);
  CHECK(decision.load);
  CHECK_FALSE(decision.measured);
  CHECK_THAT(reason_text(decision), Contains("not measured here"));
}

TEST_CASE("predict says what is missing or not known") {
  const Sandbox box;
  const Result typo = box.run("breakeven predict --model llama-3.2-3b --node h100-smx");
  CHECK(typo.exit_code == 2);
  CHECK_THAT(typo.err, Contains("did you mean h100-sxm"));
  const Result drive =
      box.run("breakeven predict --model llama-3.2-3b --node h100 --tier nvme=micron-9500");
  CHECK(drive.exit_code == 2);
  CHECK_THAT(drive.err, Contains("did you mean micron-9550"));
  CHECK_THAT(box.run("breakeven predict --model llama-3.2-3b").err, Contains("--node"));
  CHECK_THAT(box.run("breakeven predict --model llama-3.2-3b --node h100 --fixed 5").err,
             Contains("5ms"));
  CHECK(box.run("breakeven predict --model llama-3.2-3b --node h100 --utilisation 1.5").exit_code ==
        2);
  CHECK_THAT(box.run("breakeven predict --list").out,
             Contains("h100-sxm") && Contains("3.35 TB/s"));
  const json list = json::parse(box.run("breakeven predict --list --json").out);
  for (const json& each : list)
    for (const json& fact : each["facts"])
      CHECK_FALSE(fact["source"].get<std::string>().empty());
  CHECK_THAT(box.run("breakeven plan --help").out, Contains("8k is 8,192"));
}

TEST_CASE("a node of one's own is a file") {
  const Sandbox box;
  const std::string fact = R"("source": "our datasheet", "date": "2026-01")";
  box.write("mine.json", R"({"name": "mine", "kind": "accelerator", "title": "Our card", "facts": {
    "bf16": {"value": 100, "unit": "TFLOP/s", )" +
                             fact + R"(},
    "memory": {"value": 24, "unit": "GiB", )" +
                             fact + R"(},
    "memory_bandwidth": {"value": 1, "unit": "TB/s", )" +
                             fact + R"(},
    "host_link": {"value": 32, "unit": "GB/s", )" +
                             fact + "}}}");
  const Result own = box.run("breakeven predict --model llama-3.2-3b --node mine.json");
  CHECK(own.exit_code == 0);
  CHECK_THAT(own.out, Contains("Our card (predicted)") && Contains("27.2 GB/s"));
  box.write("bad.json", R"({"name": "mine", "kind": "accelerator", "title": "Our card", "facts": {
    "bf16": {"value": 100, "unit": "TFLOP/s"}}})");
  const Result unsourced = box.run("breakeven predict --model llama-3.2-3b --node bad.json");
  CHECK(unsourced.exit_code == 3);
  CHECK_THAT(unsourced.err, Contains("bad.json") && Contains("source"));
}

TEST_CASE("plan is one page, and the same for programs") {
  const Sandbox box;
  const std::string command = "breakeven plan --model qwen2.5-72b --node h100-sxm:8 --users 500 "
                              "--context 16k --hit-rate 0.9 "
                              "--reuse-interval 10m --memory 2TB --nvme 4xmicron-9550-pro "
                              "--chat system=4000,user=100,reply=300,turns=20";
  const Result page = box.run(command);
  CHECK(page.exit_code == 0);
  CHECK_THAT(page.out, Contains("NOT MEASURED") && Contains("22,888") &&
                           Contains("rated endurance") &&
                           Contains("158,000 tokens prefilled without a cache, 11,700"));
  CHECK(std::count(page.out.begin(), page.out.end(), '\n') < 45);
  const json plan = json::parse(box.run(command + " --json").out);
  CHECK(plan["status"] == "predicted");
  CHECK(plan["tiers"].size() == 3);
  CHECK(plan["tiers"][1]["prefixes"] == 372);
  CHECK(plan["tiers"][2]["pays"] == true);
  const Result worn = box.run(
      "breakeven plan --model qwen3-32b --node rtx-pro-6000 --users 500 --requests-per-day 20000 "
      "--context 8k --hit-rate 0 --nvme samsung-990-pro");
  CHECK_THAT(worn.out, Contains("does not pay") && Contains("worn out"));
  CHECK(box.run("breakeven plan --model qwen2.5-72b --node l4 --users 5").exit_code == 2);
  CHECK_THAT(box.run("breakeven plan --model qwen2.5-72b --node h100-sxm:8").err,
             Contains("--users"));
}

TEST_CASE("import turns an engine's own times into a file, and --like moves it to another model") {
  const Sandbox box;
  box.write("engine.csv", "context,new,seconds\n0,512,0.018\n0,2048,0.066\n8192,2048,0.082\n");
  const Result made = box.run("breakeven import engine.csv --model llama-3.1-8b --node h100-sxm "
                              "--max-prefix 16k --tier ssd=6GB/s,fixed=3ms -o i.json");
  CHECK(made.exit_code == 0);
  CHECK_THAT(made.out, Contains("imported, NOT MEASURED"));
  const Result moved = box.run(
      "breakeven predict --like i.json --model qwen3-8b -o q.json && breakeven show q.json");
  CHECK(moved.exit_code == 0);
  CHECK_THAT(moved.out, Contains("utilisation of llama-3.1-8b") && Contains("predicted, NOT"));
  CHECK(box.run("breakeven import missing.csv --model llama-3.1-8b").exit_code == 3);
  CHECK_THAT(box.run("breakeven predict --like q.json --model qwen3-8b").err,
             Contains("predicted itself"));
}
