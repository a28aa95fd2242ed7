#include "nodes.hpp"

#include <nlohmann/json.hpp>

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;

TEST_CASE("nodes that are alike have no outliers") {
  for (const int nodes : {5, 6, 40}) {
    const fleet::Survey survey = fleet::survey(fleet_of(nodes));
    CHECK(survey.outliers.empty());
    CHECK_FALSE(survey.too_few);
    CHECK(survey.quantities.size() >= 6);
  }
}

TEST_CASE("a slow drive at half link width stands out, with that reason") {
  fleet::Fleet all = fleet_of(20);
  all.nodes[7] = node_of(7, 1, 2);
  all.nodes[7].file.tiers[0].identity["pcie_width"] = "x2";
  all.nodes[7].file.node.kernel = "6.2";
  const fleet::Survey survey = fleet::survey(all);
  REQUIRE(!survey.outliers.empty());
  bool bandwidth = false;
  for (const fleet::Outlier& outlier : survey.outliers) {
    CHECK(outlier.node == 7);
    CHECK(survey.quantities[outlier.quantity].group == "tier disk");
    REQUIRE(!outlier.reasons.empty());
    CHECK_THAT(outlier.reasons[0], Contains("pcie_width is x2; x4 on 95 %"));
    bandwidth |= survey.quantities[outlier.quantity].name == "bandwidth";
  }
  CHECK(bandwidth);
  CHECK(survey.median_node != 7);
}

TEST_CASE("a slow processor stands out in prefill only, and facts of tiers explain none of it") {
  fleet::Fleet all = fleet_of(20);
  all.nodes[3] = node_of(3, 1.5, 1);
  all.nodes[3].file.node.governor = "powersave";
  all.nodes[3].file.tiers[0].identity["drive"] = "other drive";
  for (std::size_t i = 0; i < all.nodes.size(); ++i)
    if (i != 3) all.nodes[i].file.node.governor = "performance";
  const fleet::Survey survey = fleet::survey(all);
  REQUIRE(!survey.outliers.empty());
  for (const fleet::Outlier& outlier : survey.outliers) {
    CHECK(outlier.node == 3);
    CHECK(survey.quantities[outlier.quantity].group == "prefill");
    REQUIRE(outlier.reasons.size() == 1);
    CHECK_THAT(outlier.reasons[0], Contains("governor is powersave; performance on 95 %"));
  }
}

TEST_CASE("a fact that many nodes share explains no outlier") {
  fleet::Fleet all = fleet_of(20);
  all.nodes[3] = node_of(3, 1, 3);
  for (std::size_t i = 0; i < 8; ++i)
    all.nodes[i].file.tiers[0].identity["drive"] = "other drive";
  for (const fleet::Outlier& outlier : fleet::survey(all).outliers)
    CHECK(outlier.reasons.empty());
}

TEST_CASE("a tier that one node lacks or could not calibrate is named first") {
  fleet::Fleet all = fleet_of(8);
  all.nodes[2].file.tiers.clear();
  profile::Tier& tier = all.nodes[5].file.tiers[0];
  tier.status = "uncalibrated";
  tier.reason = "the drive is full";
  tier.load.reset();
  const fleet::Survey survey = fleet::survey(all);
  REQUIRE(survey.outliers.size() == 2);
  CHECK(survey.outliers[0].what == "no such tier");
  CHECK(survey.outliers[1].what == "uncalibrated");
  CHECK(survey.outliers[1].reasons[0] == "the drive is full");
  CHECK_THAT(fleet::text_report(all, survey), Contains("tier disk: uncalibrated"));
}

TEST_CASE("few nodes have no outliers but a median") {
  fleet::Fleet all = fleet_of(3);
  all.nodes[1] = node_of(1, 5, 5);
  const fleet::Survey survey = fleet::survey(all);
  CHECK(survey.too_few);
  CHECK(survey.outliers.empty());
  CHECK(survey.median_node != 1);
  CHECK_THAT(fleet::text_report(all, survey), Contains("too few nodes"));
}

TEST_CASE("nodes that measured other work are left out by name") {
  fleet::Fleet all = fleet_of(6);
  all.nodes[4].file.model.chunk_tokens = 512;
  fleet::keep_majority(all);
  CHECK(all.nodes.size() == 5);
  REQUIRE(all.others.size() == 1);
  CHECK(all.others[0].name == "node0004.json");
  CHECK_THAT(all.others[0].reason, Contains("steps of 512") && Contains("steps of 1024"));
}

TEST_CASE("reports pass no escapes on, and JSON holds every outlier") {
  fleet::Fleet all = fleet_of(6);
  all.nodes[2] = node_of(2, 4, 4);
  all.nodes[2].name = "\x1b[2J\xc2\x9b.json";
  all.nodes[2].file.tiers[0].identity["drive"] = "\x1b]0;x\x07";
  all.broken.push_back({"\x07.json", "\x1b is not JSON"});
  const fleet::Survey survey = fleet::survey(all);
  for (const std::string& text :
       {fleet::text_report(all, survey), fleet::json_report(all, survey)}) {
    for (const char c : text)
      REQUIRE((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
    CHECK(text.find("\xc2\x9b") == std::string::npos);
  }
  const nlohmann::json document = nlohmann::json::parse(fleet::json_report(all, survey));
  CHECK(document["outliers"].size() == survey.outliers.size());
  CHECK(document["broken"].size() == 1);
}
