#include "nodes.hpp"

#include "breakeven/policy_file.hpp"
#include "fit/fit.hpp"
#include "profile/fields.hpp"

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;

namespace {

profile::BreakEvenFile merged(const fleet::Fleet& all, double share) {
  const profile::BreakEvenFile file = fleet::merge(all, share, {"breakeven", "fleet"});
  // What the strict reader and the connector's reader accept.
  const std::string text = profile::to_json_text(file);
  static_cast<void>(profile::from_json_text(text, "merged"));
  static_cast<void>(parse_policy(text, "merged"));
  return file;
}

bool warned(const profile::BreakEvenFile& file, const std::string& words) {
  for (const profile::Warning& warning : file.warnings)
    if (warning.message.find(words) != std::string::npos) return true;
  return false;
}

} // namespace

TEST_CASE("the merged policy loads only where every node would win") {
  fleet::Fleet all = fleet_of(10);
  all.nodes[2] = node_of(2, 0.5, 1); // recomputes twice as fast
  all.nodes[6] = node_of(6, 1, 2);   // loads at half the rate
  const profile::BreakEvenFile file = merged(all, 1);
  CHECK(file.status == "imported");
  CHECK(warned(file, "merged from 10 nodes"));
  const fit::PrefillCurve curve(file.prefill, file.model.chunk_tokens);
  const auto load_of = [](const profile::BreakEvenFile& f, std::int64_t tokens) {
    const profile::LoadModel& load = *f.tiers[0].load;
    return fit::LoadFit{load.fixed_s.value, load.piece_s.value,
                        load.bandwidth[0].bandwidth_Bps.value}
        .load_s(fit::kv_bytes(f.model, tokens), fit::pieces(f.tiers[0].layout, tokens));
  };
  for (const fleet::Node& node : all.nodes) {
    const fit::PrefillCurve own(node.file.prefill, node.file.model.chunk_tokens);
    for (const std::int64_t tokens : {64, 300, 1024, 5000, 16384}) {
      CHECK(curve.saved_s(0, tokens, tokens + 1) <=
            own.saved_s(0, tokens, tokens + 1) * (1 + 1e-9));
      CHECK(load_of(file, tokens) >= load_of(node.file, tokens) * (1 - 1e-9));
    }
  }
  // 1 ms per token against 0.1 ms and 0.1 s: 112. Half of the one, twice the other: later.
  CHECK(file.tiers[0].break_even.verdict == profile::Verdict::at);
  CHECK(file.tiers[0].break_even.tokens > 300);
  CHECK(file.tiers[0].break_even.lo_tokens <= 112);
}

TEST_CASE("a quantile leaves single slow nodes out") {
  fleet::Fleet all = fleet_of(100);
  all.nodes[6] = node_of(6, 1, 20);
  const double all_of_them = merged(all, 1).tiers[0].load->bandwidth[0].bandwidth_Bps.value;
  const double most = merged(all, 0.95).tiers[0].load->bandwidth[0].bandwidth_Bps.value;
  CHECK(all_of_them == Approx(1e9 / 20).epsilon(0.02));
  CHECK(most == Approx(1e9).epsilon(0.02));
}

TEST_CASE("facts that nodes do not share are not those of the merged file") {
  fleet::Fleet all = fleet_of(6);
  all.nodes[1].file.prefill.device_name = "Other CPU";
  all.nodes[1].file.node.cpu_model = "Other CPU";
  all.nodes[1].file.node.fingerprint = "fedcba9876543210";
  all.nodes[1].file.tiers[0].identity["drive"] = "other drive";
  const profile::BreakEvenFile file = merged(all, 0.9);
  CHECK(file.prefill.device_name == "several");
  CHECK(file.node.cpu_model.empty());
  CHECK(file.node.fingerprint.empty());
  CHECK(file.tiers[0].identity.count("drive") == 0);
  CHECK(file.tiers[0].identity.at("pcie_width") == "x4");
}

TEST_CASE("tiers that most nodes lack are uncalibrated; other grids are left out, and said") {
  fleet::Fleet all = fleet_of(7);
  for (const std::size_t i : {0u, 1u, 2u, 3u}) {
    all.nodes[i].file.tiers[0].status = "uncalibrated";
    all.nodes[i].file.tiers[0].reason = "broken";
    all.nodes[i].file.tiers[0].load.reset();
  }
  all.nodes[6].file.prefill.dense.new_tokens[1] = 300;
  const profile::BreakEvenFile file = merged(all, 0.9);
  CHECK(file.tiers[0].status == "uncalibrated");
  CHECK_THAT(file.tiers[0].reason, Contains("2 of 6"));
  CHECK(file.tiers[0].break_even.verdict == profile::Verdict::uncalibrated);
  CHECK(warned(file, "1 nodes measured other"));
}

TEST_CASE("a knee that makes small pieces dearer stays in the merged policy") {
  fleet::Fleet all = fleet_of(6);
  all.nodes[2].file.tiers[0].load->knee = profile::PieceKnee{65536, {5e-9, 4e-9, 6e-9}};
  const profile::BreakEvenFile file = merged(all, 1);
  REQUIRE(file.tiers[0].load->knee);
  CHECK(file.tiers[0].load->knee->piece_bytes == 65536);
  CHECK(file.tiers[0].load->knee->below_s_per_byte.value == Approx(5e-9));
}

TEST_CASE("a predicted node makes the merged file a prediction") {
  fleet::Fleet all = fleet_of(5);
  all.nodes[0].file.status = "predicted";
  CHECK(merged(all, 0.9).status == "predicted");
}
