#include "support/catch.hpp"
#include "support/sample_file.hpp"

#include <nlohmann/json.hpp>

using namespace breakeven;
using Catch::Matchers::Contains;
using json = nlohmann::json;

namespace {

profile::BreakEvenFile with_extras() {
  profile::BreakEvenFile file = test::sample_file();
  profile::Tier& tier = file.tiers[0];
  const profile::Measurement m{0.5, 0.4, 0.6, 2, "time_cap", {0.4, 0.6}};
  tier.access =
      profile::Access{"engine", {{1000, 4, 1, false, m}}, 0.8, {{"/a", 1e9}, {"/b", 2e9}}};
  tier.layouts = {{"per layer", 1000, 10, m}};
  tier.contention = profile::Contention{1000, 4, 128, 0.25, 0.4, m, m, 2, 1.25};
  return file;
}

} // namespace

TEST_CASE("access, layouts and contention are written and read, and may be absent") {
  const std::string text = profile::to_json_text(with_extras());
  const profile::BreakEvenFile read = profile::from_json_text(text, "x.json");
  CHECK(profile::to_json_text(read) == text);
  REQUIRE(read.tiers[0].access);
  CHECK(read.tiers[0].access->places.at(1).read_Bps == 2e9);
  CHECK(read.tiers[0].layouts->at(0).pieces == 10);
  CHECK(read.tiers[0].contention->load_slowdown == 2);
  const json plain = json::parse(profile::to_json_text(test::sample_file()));
  CHECK_FALSE(plain["tiers"][0].contains("access"));
  CHECK_FALSE(plain["tiers"][0].contains("contention"));
}

TEST_CASE("broken access, layouts and contention are refused by name") {
  const json good = json::parse(profile::to_json_text(with_extras()));
  const auto refused = [&](const char* pointer, const json& value) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    try {
      profile::from_json_text(bad.dump(), "x.json");
    } catch (const std::exception& failure) {
      return std::string(failure.what());
    }
    return std::string("accepted");
  };
  CHECK_THAT(refused("/tiers/0/access/mode", "fast"), Contains("access.mode"));
  CHECK_THAT(refused("/tiers/0/access/ideal/0/seconds/lo_s", 0.55), Contains("access.ideal[0]"));
  CHECK_THAT(refused("/tiers/0/layouts/0/pieces", 0), Contains("layouts[0].pieces"));
  CHECK_THAT(refused("/tiers/0/contention/load_slowdown", -1), Contains("load_slowdown"));
  CHECK_THAT(refused("/tiers/0/contention/prefill/hi_s", 0.1), Contains("contention.prefill"));
}
