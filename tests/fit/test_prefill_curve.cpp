#include "support/catch.hpp"

#include <cmath>

#include "synthetic.hpp"

#include "support/error.hpp"

using namespace breakeven;
using synthetic::Engine;

namespace {

profile::Measurement at(double seconds) {
  profile::Measurement m;
  m.median_s = m.lo_s = m.hi_s = seconds;
  m.count = 1;
  m.samples_s = {seconds};
  return m;
}

profile::Prefill small() {
  profile::Prefill p;
  p.dense.new_tokens = {4, 8, 16};
  p.dense.seconds = {at(1), at(2), at(6)};
  profile::AttentionGrid grid;
  grid.context_tokens = {0, 100};
  grid.new_tokens = {8, 16};
  grid.seconds = {{at(8), at(32)}, {at(16), at(48)}};
  p.attention = {grid};
  return p;
}

} // namespace

TEST_CASE("a curve passes through its points and is linear between them") {
  const fit::PrefillCurve curve(small(), 16);
  CHECK(curve.step_s(0, 8) == Approx(2 + 8));
  CHECK(curve.step_s(100, 16) == Approx(6 + 48));
  CHECK(curve.step_s(0, 12) == Approx(4 + 20));
  CHECK(curve.step_s(50, 8) == Approx(2 + 12));
  CHECK(curve.step_s(50, 12) == Approx(4 + 26));
}

TEST_CASE("outside of its points a curve does as documented") {
  const fit::PrefillCurve curve(small(), 16);
  CHECK(curve.step_s(0, 0) == 0);
  CHECK(curve.step_s(0, 1) == Approx(1 + 1)); // dense constant, attention towards 0 at new = 0
  CHECK(curve.step_s(0, 4) == Approx(1 + 4));
  CHECK(curve.step_s(200, 8) == Approx(2 + 24)); // last slope in context
  CHECK(curve.step_s(0, 20) == Approx(8 + 44));  // last slope in new
}

TEST_CASE("a falling last segment is not carried on") {
  profile::Prefill p = small();
  p.dense.seconds.back() = at(1.5);
  p.attention[0].seconds[1] = {at(7), at(31)};
  const fit::PrefillCurve curve(p, 16);
  CHECK(curve.step_s(0, 1000) >= curve.step_s(0, 16));
  CHECK(curve.step_s(1000000, 8) == Approx(2 + 7));
}

TEST_CASE("prefill is the sum of its chunks and saved time a difference of prefills") {
  const fit::PrefillCurve curve(small(), 16);
  CHECK(curve.prefill_s(0, 16) == Approx(curve.step_s(0, 16)));
  CHECK(curve.prefill_s(3, 37) ==
        Approx(curve.step_s(3, 16) + curve.step_s(19, 16) + curve.step_s(35, 5)));
  CHECK(curve.saved_s(5, 20, 50) == Approx(curve.prefill_s(5, 45) - curve.prefill_s(20, 30)));
  CHECK(curve.saved_s(20, 20, 50) == 0);
}

TEST_CASE("beyond the last context many steps are summed at once") {
  const fit::PrefillCurve curve(small(), 16);
  double by_hand = 0;
  for (std::int64_t c = 0; c < 16 * 1000; c += 16)
    by_hand += curve.step_s(c, 16);
  CHECK(curve.prefill_s(0, 16 * 1000) == Approx(by_hand).epsilon(1e-12));
  const double huge = curve.prefill_s(0, std::int64_t{1} << 60); // returns, and is a number
  CHECK(std::isfinite(huge));
}

TEST_CASE("grids that do not fit their values are refused") {
  profile::Prefill p = small();
  p.dense.seconds.pop_back();
  CHECK_THROWS_AS(fit::PrefillCurve(p, 16), error);
  p = small();
  p.attention[0].seconds[1].pop_back();
  CHECK_THROWS_AS(fit::PrefillCurve(p, 16), error);
  p = small();
  p.dense.new_tokens = {4, 4, 16};
  CHECK_THROWS_AS(fit::PrefillCurve(p, 16), error);
  p = small();
  p.dense = {};
  CHECK_THROWS_AS(fit::PrefillCurve(p, 16), error);
  p = small();
  p.dense.seconds[1].median_s = std::nan("");
  CHECK_THROWS_AS(fit::PrefillCurve(p, 16), error);
  CHECK_THROWS_AS(fit::PrefillCurve(small(), 0), error);
}

TEST_CASE("models without attention and grids of one context work") {
  profile::Prefill p = small();
  p.attention.clear();
  CHECK(fit::PrefillCurve(p, 16).prefill_s(1000, 24) == Approx(6 + 2));
  p = small();
  p.attention[0].context_tokens = {0};
  p.attention[0].seconds.pop_back();
  CHECK(fit::PrefillCurve(p, 16).step_s(5000, 8) == Approx(2 + 8));
}

TEST_CASE("a resampled curve spreads as the samples do") {
  measure::Random random(7);
  const Engine engine;
  double spread = 0;
  const int rounds = 20;
  for (int round = 0; round < rounds; ++round) {
    const profile::Prefill p = synthetic::prefill(engine, {0.05, 25}, random);
    const double central = fit::PrefillCurve(p, engine.chunk_tokens).prefill_s(0, 2048);
    std::vector<double> drawn;
    for (int i = 0; i < 100; ++i)
      drawn.push_back(fit::PrefillCurve(p, engine.chunk_tokens, random).prefill_s(0, 2048));
    CHECK(measure::median(drawn) == Approx(central).epsilon(0.03));
    spread +=
        (measure::quantile(drawn, 0.84) - measure::quantile(drawn, 0.16)) / 2 / central / rounds;
  }
  CHECK(spread > 0.008); // 1.25 * 5 % / sqrt(25) = 1.25 % of the dense part, nine tenths of it all
  CHECK(spread < 0.016);
}

TEST_CASE("few samples take the spread of their neighbours") {
  measure::Random random(7);
  const Engine engine;
  profile::Prefill p = synthetic::prefill(engine, {0.05, 25}, random);
  p.dense.seconds.back() = at(p.dense.seconds.back().median_s);
  std::vector<double> drawn;
  for (int i = 0; i < 300; ++i)
    drawn.push_back(fit::PrefillCurve(p, engine.chunk_tokens, random).step_s(0, 2048));
  CHECK(measure::relative_noise(drawn) > 0.03);
}

TEST_CASE("times of a machine that stalled for seconds still resample to numbers") {
  profile::Prefill prefill;
  prefill.dense.new_tokens = {1, 64};
  prefill.dense.seconds = {{1e-5, 1e-6, 5, 3, "time_cap", {1e-6, 1e-5, 5}},
                           {1e-3, 1e-3, 90, 3, "time_cap", {1e-3, 1e-3, 90}}};
  measure::Random random(1);
  for (int i = 0; i < 1000; ++i)
    CHECK(std::isfinite(fit::PrefillCurve(prefill, 64, random).prefill_s(0, 640)));
}
