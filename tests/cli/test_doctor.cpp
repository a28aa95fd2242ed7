#include "support/catch.hpp"

#include "cli/command.hpp"

#include <nlohmann/json.hpp>

using namespace breakeven::test;
using Catch::Matchers::Contains;

TEST_CASE("doctor prints findings by state, and as JSON") {
  const Sandbox box;
  const Result text = box.run("breakeven doctor");
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, Contains("OK\n") && Contains("io_uring") && Contains("locked memory"));
  const Result result = box.run("breakeven doctor --device cpu --tier file:. --tier memory --json");
  const nlohmann::json document = nlohmann::json::parse(result.out);
  CHECK(document["missing"] == (result.exit_code == 4));
  CHECK(document["findings"].size() > 8);
  for (const auto& finding : document["findings"])
    if (finding["state"] != "ok") CHECK_FALSE(finding["fix"].get<std::string>().empty());
  CHECK(box.entries() == 0);
}

TEST_CASE("doctor exits 4 when what was asked for is missing, 2 when it makes no sense") {
  const Sandbox box;
  const Result result = box.run("breakeven doctor --tier file:no/such/place");
  CHECK(result.exit_code == 4);
  CHECK_THAT(result.out, Contains("MISSING") && Contains("directory no/such/place"));
  CHECK(box.run("breakeven doctor --device tpu").exit_code == 2);
  CHECK(box.run("breakeven doctor --tier tape:x").exit_code == 2);
}

TEST_CASE("a hostile directory name cannot drive the terminal") {
  const Sandbox box;
  const Result result = box.run("breakeven doctor --tier file:$(printf \"evil\\033[2Jname\")");
  CHECK(result.exit_code == 4);
  CHECK_THAT(result.out, Contains("evil"));
  CHECK(result.out.find('\033') == std::string::npos);
}
