#include "support/catch.hpp"
#include "support/sample_file.hpp"

#include "breakeven/admission.hpp"
#include "breakeven/policy_file.hpp"
#include "fit/fit.hpp"
#include "measure/statistics.hpp"

using namespace breakeven;

TEST_CASE("what connectors compute from the file is what calibration computed") {
  const profile::BreakEvenFile file = test::sample_file();
  const fit::PrefillCurve curve(file.prefill, file.model.chunk_tokens);
  const PolicyFile policy = parse_policy(profile::to_json_text(file));
  const TierId tier = policy.policy->find_tier("disk");
  const profile::Tier& row = file.tiers[0];
  measure::Random random(7);
  int loads = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto prompt = static_cast<std::int64_t>(300 + random.below(20000));
    const auto cached =
        static_cast<std::int64_t>(16 + random.below(static_cast<std::uint64_t>(prompt - 17)));
    const Decision d = decide(*policy.policy, Query(Tokens(prompt), tier, Tokens(cached)));
    if (!d.load) continue;
    ++loads;
    const std::int64_t p = d.load_tokens.value;
    INFO("prompt " << prompt << ", cached " << cached << ", loaded " << p);
    CHECK(d.recompute_s == Approx(curve.saved_s(0, p, prompt)).epsilon(1e-9));
    const fit::LoadFit load{row.load->fixed_s.value, row.load->piece_s.value,
                            row.load->bandwidth[0].bandwidth_Bps.value};
    CHECK(d.load_s == Approx(load.load_s(fit::kv_bytes(file.model, p), fit::pieces(row.layout, p)))
                          .epsilon(1e-9));
  }
  CHECK(loads > 1000);
}
