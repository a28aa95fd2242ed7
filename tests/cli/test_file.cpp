#include "support/catch.hpp"
#include "support/sample_file.hpp"

#include "cli/command.hpp"
#include "profile/profile.hpp"

#include <nlohmann/json.hpp>

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;
using json = nlohmann::json;

namespace {

struct WithFile : Sandbox {
  WithFile() { write("be.json", profile::to_json_text(sample_file())); }
};

} // namespace

TEST_CASE("show prints tiers, verdicts and the table of lengths") {
  const WithFile box;
  const Result shown = box.run("breakeven show be.json");
  CHECK(shown.exit_code == 0);
  CHECK_THAT(shown.out, Contains("toy") && Contains("disk") &&
                            Contains("112 tokens (100 to 125)") && Contains("1,024") &&
                            Contains("numbers are made up"));
  const json summary = json::parse(box.run("breakeven show be.json --json").out);
  CHECK(summary["tiers"][0]["break_even"]["tokens"] == 112);
  CHECK(summary["lengths"][0]["tiers"][0]["winner"] == "load");
}

TEST_CASE("show says every verdict in words") {
  const Sandbox box;
  const auto shown = [&](profile::BreakEven answer) {
    profile::BreakEvenFile file = sample_file();
    file.tiers[0].break_even = std::move(answer);
    box.write("be.json", profile::to_json_text(file));
    return box.run("breakeven show be.json").out;
  };
  CHECK_THAT(shown({profile::Verdict::always, "", 64, 64, 64, 0.95}),
             Contains("always (from 64 tokens)"));
  CHECK_THAT(shown({profile::Verdict::never, "", 0, 0, 0, 0.95}),
             Contains("never up to 16,384 tokens"));
  CHECK_THAT(shown({profile::Verdict::inconclusive, "too noisy", 0, 64, 0, 0.95}),
             Contains("inconclusive: too noisy"));
  CHECK_THAT(shown({profile::Verdict::at, "", 4096, 3000, 0, 0.95}),
             Contains("4,096 tokens (3,000 or more)"));
}

TEST_CASE("a predicted file cannot pass for a measured one") {
  const Sandbox box;
  profile::BreakEvenFile file = sample_file();
  file.status = "predicted";
  box.write("be.json", profile::to_json_text(file));
  CHECK_THAT(box.run("breakeven show be.json").out, Contains("predicted, NOT MEASURED"));
  CHECK_THAT(box.run("breakeven check be.json --tier disk --cached 4096").out,
             Contains("[predicted, not measured]"));
}

TEST_CASE("check answers with its exit code and one line") {
  const WithFile box;
  const Result load = box.run("breakeven check be.json --tier disk --cached 4096");
  CHECK(load.exit_code == 0);
  CHECK_THAT(load.out, Catch::Matchers::StartsWith("load: loading 4,096 tokens from disk"));
  const Result recompute = box.run("breakeven check be.json --tier file --cached 16");
  CHECK(recompute.exit_code == 1);
  CHECK_THAT(recompute.out, Catch::Matchers::StartsWith("recompute:"));
  const json decision = json::parse(
      box.run("breakeven check be.json --tier disk --cached 4k --prompt 8k --json").out);
  CHECK(decision["load"] == true);
  CHECK(decision["load_tokens"] == 4096);
  CHECK(decision["prompt"] == 8192);
}

TEST_CASE("check refuses questions without an answer") {
  const WithFile box;
  const auto exit_code = [&](const std::string& arguments) {
    return box.run("breakeven check be.json " + arguments).exit_code;
  };
  CHECK(exit_code("--tier tape --cached 4096") == 2);
  CHECK(exit_code("--tier disk --cached 0") == 2);
  CHECK(exit_code("--tier disk --cached 4096 --prompt 4096") == 2);
  CHECK(exit_code("--tier disk --cached 4096 --resident 4096") == 2);
  CHECK(exit_code("--tier disk --cached 4096 --margin 1") == 2);
  CHECK(exit_code("--tier disk --cached 99999999999999") == 2);
  CHECK(exit_code("--tier disk") == 2);
}

TEST_CASE("an uncalibrated tier recomputes and says why") {
  const Sandbox box;
  profile::BreakEvenFile file = sample_file();
  file.tiers[0].status = "uncalibrated";
  file.tiers[0].reason = "tmpfs is no disk";
  file.tiers[0].load.reset();
  file.tiers[0].break_even = {profile::Verdict::uncalibrated, "tmpfs is no disk", 0, 0, 0, 0.95};
  box.write("be.json", profile::to_json_text(file));
  const Result result = box.run("breakeven check be.json --tier disk --cached 4096");
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.out, Contains("tmpfs is no disk"));
  CHECK_THAT(box.run("breakeven show be.json").out, Contains("uncalibrated: tmpfs is no disk"));
}

TEST_CASE("damaged files are bad input, by name") {
  const WithFile box;
  const std::string text = box.read("be.json");
  box.write("cut.json", text.substr(0, text.size() / 2));
  box.write("empty.json", "");
  std::string newer = text;
  newer.replace(newer.find(breakeven::profile::schema_version), 5, "9.0.0");
  box.write("newer.json", newer);
  for (const char* name : {"cut.json", "empty.json", "newer.json", "missing.json", "."})
    for (const char* verb : {"show", "check --tier disk --cached 4096"}) {
      const Result result = box.run(std::string("breakeven ") + verb + " " + name);
      INFO(result.err);
      CHECK(result.exit_code == 3);
      CHECK_THAT(result.err, Contains(name));
    }
  CHECK_THAT(box.run("breakeven show newer.json").err, Contains("9.0.0"));
}

TEST_CASE("names in a file cannot drive the terminal") {
  const Sandbox box;
  profile::BreakEvenFile file = sample_file();
  file.model.name = "toy\x1b[2J\x07";
  file.warnings[0].message = "\x1b]0;title\x07";
  box.write("be.json", profile::to_json_text(file));
  CHECK(box.run("breakeven show be.json").out.find('\x1b') == std::string::npos);
}
