#include "support/catch.hpp"
#include "support/sample_file.hpp"

#include "cli/command.hpp"

#include <nlohmann/json.hpp>

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;
using json = nlohmann::json;

namespace {

struct WithNodes : Sandbox {
  WithNodes() {
    std::filesystem::create_directories(path() / "nodes/rack1");
    for (int i = 0; i < 8; ++i) {
      profile::BreakEvenFile file = sample_file();
      if (i == 5) {
        file.tiers[0].load->bandwidth = {{1, {0.4e9, 0.39e9, 0.41e9}}};
        file.tiers[0].identity["drive"] = "slow drive";
      }
      write("nodes/rack1/n" + std::to_string(i) + ".json", profile::to_json_text(file));
    }
  }
};

} // namespace

TEST_CASE("fleet names the outlier, its drive, and files that cannot be read") {
  const WithNodes box;
  box.write("nodes/cut.json", "{\"schema\"");
  box.write("nodes/notes.txt", "not a break-even file");
  const Result result = box.run("breakeven fleet nodes");
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.out, Contains("8 nodes: toy") && Contains("n5.json: tier disk: bandwidth") &&
                             Contains("drive is slow drive; test drive on 88 %") &&
                             Contains("unreadable, left out: 1") && Contains("cut.json"));
  CHECK_THAT(result.err, Contains("1 of 9 files could not be read"));
  const json document = json::parse(box.run("breakeven fleet nodes --json").out);
  CHECK(document["nodes"] == 8);
  CHECK(document["broken"].size() == 1);
  CHECK(document["outliers"][0]["node"] == "nodes/rack1/n5.json");
}

TEST_CASE("the policy that fleet writes is one that show and check read") {
  const WithNodes box;
  REQUIRE(box.run("breakeven fleet nodes -o pool.json --nodes 1").exit_code == 0);
  CHECK_THAT(box.run("breakeven show pool.json").out, Contains("imported, NOT MEASURED") &&
                                                          Contains("merged from 8 nodes") &&
                                                          Contains("400 MB/s"));
  const Result check = box.run("breakeven check pool.json --tier disk --cached 4096");
  CHECK(check.exit_code == 0);
  CHECK_THAT(check.out, Contains("[imported, not measured]"));
  CHECK(box.run("breakeven compare nodes/rack1/n1.json pool.json").exit_code <= 1);
}

TEST_CASE("fleet refuses what is none") {
  const WithNodes box;
  std::filesystem::create_directories(box.path() / "empty");
  box.write("bad.json", "[]");
  CHECK(box.run("breakeven fleet").exit_code == 2);
  CHECK(box.run("breakeven fleet empty").exit_code == 2);
  CHECK(box.run("breakeven fleet nodes --nodes 0.2").exit_code == 2);
  CHECK(box.run("breakeven fleet nodes --nodes 2").exit_code == 2);
  const Result all_bad = box.run("breakeven fleet bad.json missing.json");
  CHECK(all_bad.exit_code == 3);
  CHECK_THAT(all_bad.err, Contains("none of 2 files"));
  CHECK(box.run("breakeven fleet nodes -o nowhere/pool.json").exit_code == 4);
}
