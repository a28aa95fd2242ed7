#include "support/catch.hpp"

#include "model/json_text.hpp"
#include "predict/bundled.hpp"
#include "predict/hardware.hpp"
#include "predict/tier_rate.hpp"
#include "support/error.hpp"

#include <set>

using namespace breakeven;
using namespace breakeven::predict;
using Catch::Matchers::Contains;

TEST_CASE("every bundled fact has a source, a date and a unit") {
  std::set<std::string> names;
  for (const auto& [file, text] : bundled_hardware()) {
    const Hardware each = parse_hardware(text, std::string(file));
    INFO(each.name);
    CHECK(each.name == file);
    CHECK(names.insert(each.name).second);
    for (const std::string& other : each.also)
      CHECK(names.insert(other).second);
    for (const auto& [key, fact] : each.facts) {
      INFO(key);
      CHECK(fact.value > 0);
      CHECK(fact.source.size() > 8);
      CHECK(fact.date.size() >= 7);
      CHECK_THAT(fact.date, Catch::Matchers::StartsWith("20"));
    }
    if (each.kind == "accelerator")
      for (const char* needed : {"bf16", "memory", "memory_bandwidth"})
        CHECK(each.find(needed) != nullptr);
  }
  for (const char* wanted : {"h100-sxm",
                             "h100-pcie",
                             "h100-nvl",
                             "h200",
                             "b200",
                             "gb200",
                             "gh200",
                             "a100-40",
                             "a100-80",
                             "l40s",
                             "l4",
                             "rtx-4090",
                             "rtx-4000-ada",
                             "rtx-6000-ada",
                             "rtx-pro-6000",
                             "mi300x",
                             "mi355x",
                             "xeon-8480",
                             "epyc-9654",
                             "micron-9550-pro",
                             "samsung-pm9a3",
                             "samsung-990-pro",
                             "gen4-class",
                             "400gbe"})
    CHECK(names.count(wanted) == 1);
}

TEST_CASE("no number in the hardware files stands outside of a sourced fact") {
  for (const auto& [file, text] : bundled_hardware()) {
    const nlohmann::json document = model::parse_json(text, std::string(file));
    for (const auto& [key, value] : document.items())
      CHECK((key == "facts" || !value.is_number()));
    for (const auto& [key, fact] : document["facts"].items())
      for (const auto& [field, value] : fact.items())
        CHECK((field == "value" || !value.is_number()));
  }
}

TEST_CASE("a fact without source is refused by name") {
  const auto with_fact = [](const std::string& fact) {
    return R"({"name": "mine", "kind": "drive", "title": "Mine", "facts": {"read": )" + fact + "}}";
  };
  const std::string rest = R"("source": "a datasheet", "date": "2026-01"})";
  CHECK(parse_hardware(with_fact(R"({"value": 7, "unit": "GB/s", )" + rest), "f").value("read") ==
        Approx(7e9));
  CHECK(parse_hardware(with_fact(R"({"value": 1, "unit": "GiB/s", )" + rest), "f").value("read") ==
        Approx(0x1p30));
  for (const char* bad : {R"({"value": 7, "unit": "GB/s", "date": "2026"})",
                          R"({"value": 7, "unit": "GB/s", "source": "", "date": "2026"})",
                          R"({"value": 7, "unit": "GB/s", "source": "s"})",
                          R"({"value": 7, "source": "s", "date": "d"})",
                          R"({"value": 7, "unit": "GB", "source": "s", "date": "d"})",
                          R"({"value": 0, "unit": "GB/s", "source": "s", "date": "d"})",
                          R"({"value": "7", "unit": "GB/s", "source": "s", "date": "d"})", "7"})
    CHECK_THROWS_WITH(parse_hardware(with_fact(bad), "own.json"),
                      Contains("own.json") && Contains("read"));
  CHECK_THROWS_WITH(parse_hardware(R"({"name": "x", "kind": "drive", "title": "x",
                      "facts": {"raed": {}}})",
                                   "own.json"),
                    Contains("did you mean 'read'"));
}

TEST_CASE("an unknown name is answered with the nearest ones") {
  CHECK_THROWS_WITH(parse_node("h100-smx"),
                    Contains("did you mean h100-sxm or h100") && Contains("h100-pcie"));
  CHECK_THROWS_WITH(parse_node("RTX 4000"), Contains("did you mean rtx-4"));
  CHECK_THROWS_WITH(parse_node("micron-9550"), !Contains("did you mean micron"));
  CHECK_THROWS_WITH(parse_tier_rate("nvme=2xmicron-9500-pro"), Contains("micron-9550-pro"));
  CHECK_THROWS_WITH(parse_node("h100-sxm:0"), Contains("1 to 1,024"));
  CHECK(parse_node("h100:4").device.name == "h100-sxm");
  CHECK(parse_node("h100:4").count == 4);
}

TEST_CASE("a tier is a rate, or as many drives as it says") {
  const TierRate raid = parse_tier_rate("nvme=4x14GB/s,shared=8,fixed=2ms");
  CHECK(raid.name == "nvme");
  CHECK(raid.rate_Bps() == Approx(7e9));
  CHECK(raid.fixed_s == Approx(2e-3));
  const TierRate drives = parse_tier_rate("nvme=4xmicron-9550-pro");
  CHECK(drives.rate_Bps() == Approx(56e9));
  CHECK_THAT(drives.identity.at("source"), Contains("Micron"));
  CHECK(parse_tier_rate("net=400gbe").rate_Bps() == Approx(50e9));
  for (const char* bad : {"nvme", "=14GB/s", "nvme=14", "nvme=14GB", "nvme=0x14GB/s",
                          "nvme=14GB/s,shard=2", "nvme=14GB/s,shared=0", "nvme=14GB/s,fixed=5"})
    CHECK_THROWS_AS(parse_tier_rate(bad), error);
  CHECK_THROWS_WITH(parse_cost_s("5", "--fixed"), Contains("5ms"));
}
