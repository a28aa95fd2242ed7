#include "support/catch.hpp"
#include "support/sample_file.hpp"

#include "points_of.hpp"

using namespace breakeven;
using namespace breakeven::verify;
using profile::Verdict;

namespace {

TierReport judged(const profile::BreakEvenFile& file, const std::vector<Point>& points) {
  return judge(file, Forecast(file), 0, points);
}

} // namespace

TEST_CASE("forecasts are the sums that connectors compute") {
  const profile::BreakEvenFile file = test::sample_file();
  const Forecast forecast(file);
  // 0.1 s + 4 chunks of 10 us + 100 kB a token at 1 GB/s, then one token at 1 ms.
  CHECK(forecast.load_s(0, 1024) == Approx(0.1 + 4e-5 + 0.1024));
  CHECK(forecast.hit_s({0, 1024, 1025, Place::at}) == Approx(0.2024 + 1e-3 + 4e-5).epsilon(1e-3));
  CHECK(forecast.prefill_s(0, 2048) == Approx(2.05).epsilon(0.01));
  CHECK(forecast.load_wins({0, 1024, 1025, Place::at}));
  CHECK_FALSE(forecast.load_wins({0, 64, 65, Place::at}));
}

TEST_CASE("a claim is confirmed when both sides of it hold") {
  const profile::BreakEvenFile file = test::sample_file();
  const Forecast forecast(file);
  const TierReport report =
      judged(file, {test::point_of(forecast, 80, 1, 1), test::point_of(forecast, 112, 1, 1),
                    test::point_of(forecast, 160, 1, 1)});
  INFO(report.reason);
  CHECK(report.outcome == Outcome::confirmed);
  CHECK(report.crossing_known);
  CHECK(std::abs(report.crossing_tokens - 112) <= 16);
}

TEST_CASE("one side alone confirms nothing, and a tie tells nothing") {
  const profile::BreakEvenFile file = test::sample_file();
  const Forecast forecast(file);
  CHECK(judged(file, {test::point_of(forecast, 160, 1, 1)}).outcome == Outcome::cannot_say);
  CHECK(judged(file, {}).outcome == Outcome::cannot_say);
  Point tie = test::point_of(forecast, 80, 1, 1);
  tie.measured = Winner::tie;
  const TierReport report = judged(file, {tie, test::point_of(forecast, 160, 1, 1)});
  CHECK(report.outcome == Outcome::cannot_say);
  CHECK_FALSE(report.reason.empty());
}

TEST_CASE("a slower tier moves the crossing up, a faster one down, and it says where to") {
  const profile::BreakEvenFile file = test::sample_file();
  const Forecast forecast(file);
  const TierReport up =
      judged(file, {test::point_of(forecast, 80, 3, 1), test::point_of(forecast, 160, 3, 1),
                    test::point_of(forecast, 1024, 3, 1)});
  CHECK(up.outcome == Outcome::moved);
  // 3 * (0.1 + 1e-4 p) = 1e-3 p: about 430 tokens.
  CHECK(up.crossing_tokens > 380);
  CHECK(up.crossing_tokens < 480);
  const TierReport down = judged(file, {test::point_of(forecast, 80, 0.3, 1)});
  CHECK(down.outcome == Outcome::moved);
  CHECK(down.crossing_tokens == 64); // the shortest length calibrated
  const TierReport gone =
      judged(file, {test::point_of(forecast, 160, 90, 1), test::point_of(forecast, 16384, 90, 1)});
  CHECK(gone.outcome == Outcome::moved);
  CHECK(gone.crossing_tokens == 0);
}

TEST_CASE("within the claimed interval nothing is a contradiction") {
  const profile::BreakEven claim{Verdict::at, "", 112, 100, 125, 0.95};
  CHECK(claimed(claim, 99) == Winner::recompute);
  CHECK(claimed(claim, 100) == Winner::tie);
  CHECK(claimed(claim, 125) == Winner::tie);
  CHECK(claimed(claim, 126) == Winner::load);
  const profile::BreakEven open{Verdict::at, "", 112, 100, 0, 0.95};
  CHECK(claimed(open, 100000) == Winner::tie);
}

TEST_CASE("always, never, inconclusive and uncalibrated tiers") {
  profile::BreakEvenFile file = test::sample_file();
  const Forecast forecast(file);
  const std::vector<Point> loads = {test::point_of(forecast, 1024, 1, 1)};
  const std::vector<Point> recomputes = {test::point_of(forecast, 1024, 9, 1)};
  file.tiers[0].break_even = {Verdict::always, "", 64, 64, 64, 0.95};
  CHECK(judged(file, loads).outcome == Outcome::confirmed);
  CHECK(judged(file, recomputes).outcome == Outcome::moved);
  file.tiers[0].break_even = {Verdict::never, "", 0, 0, 0, 0.95};
  CHECK(judge(file, forecast, 0, loads).outcome == Outcome::moved);
  CHECK(judge(file, forecast, 0, recomputes).outcome == Outcome::confirmed);
  file.tiers[0].break_even = {Verdict::inconclusive, "too noisy", 112, 64, 0, 0.95};
  CHECK(judge(file, forecast, 0, loads).outcome == Outcome::cannot_say);
  file.tiers[0].break_even = {Verdict::uncalibrated, "no drive", 0, 0, 0, 0.95};
  file.tiers[0].load.reset();
  file.tiers[0].reason = "no drive";
  const TierReport none = judge(file, forecast, 0, {});
  CHECK(none.outcome == Outcome::no_claim);
  CHECK(none.reason == "no drive");
}

TEST_CASE("few samples widen the interval, so that one run never decides a close call") {
  CHECK(interval_of({1.0}, 0.02).lo < 0.92);
  CHECK(interval_of({1.0}, 0.02).hi > 1.08);
  CHECK(interval_of({1.0, 1.3}, 0.01).hi >= 1.3);
  const measure::MedianInterval six = interval_of({1, 1.01, 0.99, 1, 1.02, 1}, 0.5);
  CHECK(six.hi <= 1.02); // enough samples speak for themselves
  CHECK(interval_of({}, 0.1).count == 0);
}

TEST_CASE("exit codes: moved beats cannot say beats confirmed") {
  Report report;
  const auto with = [&](std::initializer_list<Outcome> outcomes) {
    report.tiers.clear();
    for (const Outcome outcome : outcomes) {
      TierReport tier;
      tier.outcome = outcome;
      report.tiers.push_back(tier);
    }
    return exit_code(report);
  };
  CHECK(with({Outcome::confirmed, Outcome::no_claim}) == 0);
  CHECK(with({Outcome::confirmed, Outcome::cannot_say}) == 5);
  CHECK(with({Outcome::cannot_say, Outcome::moved}) == 1);
  CHECK(with({Outcome::no_claim}) == 5);
  CHECK(with({}) == 5);
}
