#include "support/catch.hpp"
#include "support/sample_file.hpp"

#include "profile/schema.hpp"
#include "support/error.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

using namespace breakeven;
using Catch::Matchers::Contains;
using json = nlohmann::json;

namespace {

json sample() {
  return json::parse(profile::to_json_text(test::sample_file()));
}
void read(const json& document) {
  profile::from_json_text(document.dump(), "x.json");
}

} // namespace

TEST_CASE("a file written is a file read, to the last bit") {
  const std::string text = profile::to_json_text(test::sample_file());
  CHECK(profile::to_json_text(profile::from_json_text(text, "x.json")) == text);
  CHECK(text.find("\"schema\"") < text.find("\"status\""));
}

TEST_CASE("the first offending key is named by its path") {
  json document = sample();
  SECTION("missing") {
    document["model"].erase("kv_bytes_per_token");
    CHECK_THROWS_WITH(read(document),
                      Contains("x.json") && Contains("'model.kv_bytes_per_token' is missing"));
  }
  SECTION("wrong type, deep") {
    document["prefill"]["attention"][0]["seconds"][1][0]["median_s"] = "fast";
    CHECK_THROWS_WITH(read(document), Contains("'prefill.attention[0].seconds[1][0].median_s'"));
  }
  SECTION("negative") {
    document["tiers"][0]["store_Bps"] = -1;
    CHECK_THROWS_WITH(read(document), Contains("'tiers[0].store_Bps' must not be negative"));
  }
  SECTION("an integer above 64 bits") {
    document["model"]["kv_bytes_per_token"] = 18446744073709551615ull;
    CHECK_THROWS_WITH(read(document),
                      Contains("'model.kv_bytes_per_token' must be a 64-bit integer"));
  }
  SECTION("a fraction where a count belongs") {
    document["calibrated_lengths"][2] = 3.5;
    CHECK_THROWS_WITH(read(document), Contains("'calibrated_lengths[2]'"));
  }
  SECTION("a key that this version does not have") {
    document["tiers"][0]["speed"] = 3;
    CHECK_THROWS_WITH(read(document), Contains("'tiers[0].speed' is not part of schema"));
  }
  SECTION("a grid that does not ascend") {
    document["prefill"]["dense"]["new_tokens"][1] = 1;
    CHECK_THROWS_WITH(read(document), Contains("'prefill.dense.new_tokens' must ascend strictly"));
  }
  SECTION("a calibrated tier without constants") {
    document["tiers"][0].erase("load");
    CHECK_THROWS_WITH(read(document), Contains("'tiers[0].load'"));
  }
  SECTION("two tiers of one name") {
    document["tiers"].push_back(document["tiers"][0]);
    CHECK_THROWS_WITH(read(document), Contains("'tiers[1].name' must be unique"));
  }
  SECTION("an unknown verdict") {
    document["tiers"][0]["break_even"]["verdict"] = "perhaps\x1b[2J";
    CHECK_THROWS_WITH(read(document), Contains("unknown value 'perhaps?[2J'"));
  }
}

TEST_CASE(
    "versions: a newer minor is accepted with its new keys, another major is refused by name") {
  json document = sample();
  document["schema"]["version"] = "1.7.0";
  document["node"]["colour"] = "green";
  CHECK_NOTHROW(read(document));
  document["schema"]["version"] = "2.0.0";
  CHECK_THROWS_WITH(read(document), Contains("is 2.0.0") && Contains("1.x"));
  document["schema"]["version"] = "one";
  CHECK_THROWS_WITH(read(document), Contains("MAJOR.MINOR.PATCH"));
  document["schema"]["name"] = "thresholds";
  CHECK_THROWS_WITH(read(document), Contains("not a break-even file"));
}

TEST_CASE("text that is no break-even file is refused in one sentence, wherever it was cut") {
  const std::string text = profile::to_json_text(test::sample_file());
  for (std::size_t length = 0; length + 2 < text.size(); length += 97)
    CHECK_THROWS_AS(profile::from_json_text(text.substr(0, length), "x.json"), error);
  for (const char* other : {"", "[]", "null", "{}", "\xff\xfe\x00", "{\"schema\": 3}"})
    CHECK_THROWS_AS(profile::from_json_text(other, "x.json"), error);
  const std::string deep(1000000, '[');
  CHECK_THROWS_AS(profile::from_json_text(deep, "x.json"), error);
}

TEST_CASE("a number that is not finite is never written") {
  profile::BreakEvenFile file = test::sample_file();
  file.tiers[0].load->fixed_s.value = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(profile::to_json_text(file), Contains("tiers.load.fixed_s.value"));
}

TEST_CASE("the schema in the tree is the schema of the code") {
  const std::string path = BREAKEVEN_SOURCE_DIR "/src/profile/breakeven.schema.json";
  if (std::getenv("BREAKEVEN_UPDATE_SCHEMA")) std::ofstream(path) << profile::json_schema_text();
  std::stringstream in_tree;
  in_tree << std::ifstream(path).rdbuf();
  INFO("run this test with BREAKEVEN_UPDATE_SCHEMA=1 after a change of the keys");
  CHECK(in_tree.str() == profile::json_schema_text());
}
