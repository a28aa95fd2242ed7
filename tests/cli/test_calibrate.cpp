#include "support/catch.hpp"

#include "cli/command.hpp"
#include "profile/profile.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;

namespace {

/// A model that is calibrated in seconds, to 2,048 tokens.
const std::string tiny = "breakeven calibrate --model '" BREAKEVEN_TEST_DATA
                         "/models/tiny.json' --max-prefix 2k --chunk-tokens 512 --budget 9s ";

bool overlap(const profile::BreakEven& a, const profile::BreakEven& b, std::int64_t longest) {
  const auto hi = [&](const profile::BreakEven& x) {
    return x.hi_tokens == 0 ? longest + 1 : x.hi_tokens;
  };
  return a.lo_tokens <= hi(b) && b.lo_tokens <= hi(a);
}

/// 0, or 5 when the machine was too busy for any tier to be judged: then every tier says why.
void check_honest(const Result& result, const profile::BreakEvenFile& file) {
  INFO(result.err);
  CHECK((result.exit_code == 0 || result.exit_code == 5));
  for (const profile::Tier& tier : file.tiers)
    CHECK(tier.load.has_value() == tier.reason.empty());
  if (result.exit_code == 5)
    WARN("this machine is too busy to calibrate: " << file.tiers[0].reason);
}

} // namespace

TEST_CASE("calibrate writes a file that every reader accepts, twice with answers that agree") {
  const Sandbox box;
  const Result first = box.run(tiny + "-o a.json --tier memory --tier file:.");
  const Result second = box.run(tiny + "-o b.json --tier memory --tier file:. --quiet");
  const profile::BreakEvenFile a = profile::read_file(box.path() / "a.json");
  const profile::BreakEvenFile b = profile::read_file(box.path() / "b.json");
  check_honest(first, a);
  check_honest(second, b);
  CHECK_THAT(first.out, Contains("loading wins from") && Contains("a.json"));
  CHECK(second.out.empty());
  REQUIRE(a.tiers.size() == 2);
  for (std::size_t i = 0; i < a.tiers.size(); ++i) {
    if (!a.tiers[i].load || !b.tiers[i].load) continue;
    INFO(a.tiers[i].name << ": " << a.tiers[i].break_even.tokens << " and "
                         << b.tiers[i].break_even.tokens);
    CHECK(overlap(a.tiers[i].break_even, b.tiers[i].break_even, 2048));
  }
  CHECK(a.status == "measured");
  CHECK(a.node.fingerprint.size() == 16);
  CHECK(a.tool.argv.size() > 3);
  CHECK_FALSE(a.prefill.kernel_source.empty());
  CHECK(box.entries() == 2); // no scratch file survives
  const Result valid = box.run("'" BREAKEVEN_PYTHON "' '" BREAKEVEN_SOURCE_DIR
                               "/tests/cli/validate_schema.py' '" BREAKEVEN_SOURCE_DIR
                               "/src/profile/breakeven.schema.json' a.json b.json");
  INFO(valid.err);
  CHECK(valid.exit_code == 0);
  const int checked = box.run("breakeven check a.json --tier memory --cached 1024").exit_code;
  CHECK((checked == 0 || checked == 1));
}

TEST_CASE("an interrupted run keeps the old file and leaves no scratch") {
  const Sandbox box;
  for (const auto& [signal, exit_code] : {std::pair{"INT", 130}, std::pair{"TERM", 143}}) {
    box.write("be.json", "old");
    const Result result =
        box.run("'" BREAKEVEN_BINARY "' calibrate --model '" BREAKEVEN_TEST_DATA
                "/models/tiny.json' --budget 60s --tier memory --tier file:. -o be.json & pid=$!; "
                "sleep 2; kill -" +
                std::string(signal) + " $pid; wait $pid");
    INFO(result.err);
    CHECK(result.exit_code == exit_code);
    CHECK(box.read("be.json") == "old");
    CHECK(box.entries() == 1);
  }
}

TEST_CASE("a tier that was named and cannot be had is an error; nothing is written") {
  const Sandbox box;
  const Result result = box.run(tiny + "--tier file:no/such/directory");
  CHECK(result.exit_code == 4);
  CHECK_THAT(result.err, Contains("no/such/directory"));
  CHECK(box.entries() == 0);
}

TEST_CASE("a memory file system is never reported as a disk") {
  const Sandbox box;
  if (box.run("test \"$(stat -f -c %T /dev/shm)\" = tmpfs").exit_code != 0) {
    WARN("/dev/shm is no tmpfs here: skipped");
    return;
  }
  const Result result = box.run(tiny + "--tier file:/dev/shm -o be.json");
  CHECK(result.exit_code == 5); // nothing to decide with
  const profile::BreakEvenFile file = profile::read_file(box.path() / "be.json");
  CHECK(file.tiers.at(0).status == "uncalibrated");
  CHECK_FALSE(file.tiers.at(0).reason.empty());
}

TEST_CASE("calibrate --json prints one document and nothing else on stdout") {
  const Sandbox box;
  const Result result = box.run(tiny + "--tier memory --json");
  CHECK((result.exit_code == 0 || result.exit_code == 5));
  CHECK(nlohmann::json::parse(result.out)["tiers"][0]["name"] == "memory");
  CHECK(box.entries() == 1);
}
