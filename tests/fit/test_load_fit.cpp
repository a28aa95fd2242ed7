#include "support/catch.hpp"

#include "synthetic.hpp"

#include "support/error.hpp"

using namespace breakeven;
using fit::LoadFit;
using synthetic::Noise;

TEST_CASE("sizes of a prefix") {
  profile::Model model;
  model.kv_bytes_per_token = 100;
  model.kv_windows = {{1000, 7}};
  model.state_bytes = 50;
  CHECK(fit::kv_bytes(model, 0) == 0);
  CHECK(fit::kv_bytes(model, 10) == 1000 + 70 + 50);
  CHECK(fit::kv_bytes(model, 5000) == 500000 + 7000 + 50);
  CHECK_THROWS_AS(fit::kv_bytes(model, std::int64_t{1} << 60), error);
  const profile::Layout layout{"x", 256, 4};
  CHECK(fit::pieces(layout, 0) == 0);
  CHECK(fit::pieces(layout, 256) == 4);
  CHECK(fit::pieces(layout, 257) == 8);
  model.checkpoint_tokens = 400;
  CHECK(fit::loadable_tokens(model, 1199) == 800);
  CHECK(fit::loadable_tokens(model, 399) == 0);
}

TEST_CASE("exact times give the exact constants back") {
  measure::Random random(1);
  for (const LoadFit truth : {LoadFit{1e-4, 2e-6, 5e9}, LoadFit{0, 2e-6, 5e9},
                              LoadFit{1e-3, 0, 1e8}, LoadFit{0, 0, 3e10}}) {
    const LoadFit fitted = fit::fit_load(synthetic::sweep(truth, {0, 6}, random));
    CHECK(fitted.fixed_s == Approx(truth.fixed_s).epsilon(1e-6).margin(1e-12));
    CHECK(fitted.piece_s == Approx(truth.piece_s).epsilon(1e-6).margin(1e-13));
    CHECK(fitted.bandwidth_Bps == Approx(truth.bandwidth_Bps).epsilon(1e-6));
  }
}

TEST_CASE("the fit is the best of a fine search around it") {
  measure::Random random(3);
  for (int round = 0; round < 20; ++round) {
    const LoadFit truth{random.uniform() < 0.3 ? 0 : 1e-4 * random.uniform(),
                        random.uniform() < 0.3 ? 0 : 1e-5 * random.uniform(),
                        1e9 + 1e10 * random.uniform()};
    const auto points = synthetic::sweep(truth, {0.1, 7}, random);
    const LoadFit fitted = fit::fit_load(points);
    CHECK(fitted.fixed_s >= 0);
    CHECK(fitted.piece_s >= 0);
    const auto loss = [&](const LoadFit& f) {
      double sum = 0;
      for (const auto& p : points) {
        const double e = f.load_s(p.bytes, p.pieces) / p.seconds.median_s - 1;
        sum += e * e;
      }
      return sum;
    };
    const double best = loss(fitted);
    for (const double f : {-1e-6, 0.0, 1e-6})
      for (const double q : {-1e-8, 0.0, 1e-8})
        for (const double b : {0.999, 1.0, 1.001}) {
          const LoadFit near{std::max(0.0, fitted.fixed_s + f), std::max(0.0, fitted.piece_s + q),
                             fitted.bandwidth_Bps * b};
          CHECK(loss(near) >= best * (1 - 1e-9));
        }
  }
}

TEST_CASE("points that say nothing of a bandwidth are refused") {
  measure::Random random(1);
  auto points = synthetic::sweep({1e-3, 0, 5e9}, {0, 6}, random);
  for (auto& point : points)
    point.seconds = synthetic::sampled(1e-3, 0, 6, random);
  CHECK_THROWS_AS(fit::fit_load(points), error);
  CHECK_THROWS_AS(fit::fit_load({}), error);
  points = synthetic::sweep({1e-3, 0, 5e9}, {0, 6}, random);
  points[0].seconds.median_s = 0;
  CHECK_THROWS_AS(fit::fit_load(points), error);
}

TEST_CASE("pieces in step with bytes still give a bandwidth") {
  measure::Random random(1);
  std::vector<profile::SweepPoint> points;
  for (std::int64_t i = 1; i <= 6; ++i) {
    profile::SweepPoint p;
    p.pieces = i;
    p.bytes = i << 20;
    p.seconds = synthetic::sampled(1e-4 + 1e-3 * static_cast<double>(i), 0, 6, random);
    points.push_back(p);
  }
  const LoadFit fitted = fit::fit_load(points);
  CHECK(fitted.load_s(3 << 20, 3) == Approx(3.1e-3));
  CHECK(fitted.piece_s == 0);
}

TEST_CASE("a tier is calibrated with intervals that hold the truth about as often as they say") {
  const LoadFit truth{2e-3, 5e-5, 4e9};
  int covered_bandwidth = 0, covered_fixed = 0, covered_piece = 0;
  const int rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    measure::Random random(100 + static_cast<std::uint64_t>(round));
    profile::Tier tier = synthetic::tier("memory", truth, {0.03, 15}, random);
    fit::LoadModelOptions options;
    options.seed = static_cast<std::uint64_t>(round);
    fit::fit_tier(tier, options);
    REQUIRE(tier.status == "calibrated");
    const auto holds = [](const profile::Estimate& e, double value) {
      CHECK(e.lo <= e.value);
      CHECK(e.value <= e.hi);
      return e.lo <= value && value <= e.hi;
    };
    covered_bandwidth += holds(tier.load->bandwidth[0].bandwidth_Bps, truth.bandwidth_Bps);
    covered_fixed += holds(tier.load->fixed_s, truth.fixed_s);
    covered_piece += holds(tier.load->piece_s, truth.piece_s);
  }
  INFO("bandwidth " << covered_bandwidth << " fixed " << covered_fixed << " piece " << covered_piece
                    << " of " << rounds);
  for (const int covered : {covered_bandwidth, covered_fixed, covered_piece})
    CHECK(covered >= rounds * 88 / 100);
}

TEST_CASE("bandwidth under contention is reported by depth") {
  measure::Random random(5);
  profile::Tier tier = synthetic::tier("memory", {1e-3, 1e-5, 8e9}, {0.01, 10}, random);
  for (const std::int64_t depth : {4, 2}) {
    const LoadFit shared{1e-3, 1e-5, 8e9 / static_cast<double>(depth)};
    for (const auto& point : synthetic::sweep(shared, {0.01, 10}, random, depth))
      tier.sweep.push_back(point);
  }
  fit::fit_tier(tier, {});
  REQUIRE(tier.status == "calibrated");
  REQUIRE(tier.load->bandwidth.size() == 3);
  CHECK(tier.load->bandwidth[1].in_flight == 2);
  CHECK(tier.load->bandwidth[2].in_flight == 4);
  CHECK(tier.load->bandwidth[1].bandwidth_Bps.value == Approx(4e9).epsilon(0.05));
  CHECK(tier.load->bandwidth[2].bandwidth_Bps.value == Approx(2e9).epsilon(0.05));
}

TEST_CASE("a tier that fails a sanity gate is uncalibrated with a reason") {
  measure::Random random(5);
  const auto reason_of = [](profile::Tier tier, const fit::LoadModelOptions& options) {
    fit::fit_tier(tier, options);
    CHECK(tier.status == "uncalibrated");
    CHECK_FALSE(tier.load);
    return tier.reason;
  };
  const profile::Tier good = synthetic::tier("memory", {1e-3, 1e-5, 8e9}, {0.01, 10}, random);
  profile::Tier tier = good;

  fit::LoadModelOptions options;
  options.ceiling_Bps = 4e9;
  CHECK_THAT(reason_of(good, options), Catch::Matchers::Contains("limit of 4.00 GB/s"));

  profile::SweepPoint bad = good.sweep.back();
  bad.holdout = true;
  bad.seconds = synthetic::sampled(2 * bad.seconds.median_s, 0, 6, random);
  tier.sweep.push_back(bad);
  CHECK_THAT(reason_of(tier, {}), Catch::Matchers::Contains("misses"));

  tier = good;
  tier.sweep.resize(2);
  CHECK_THAT(reason_of(tier, {}), Catch::Matchers::Contains("needs 3"));

  tier = good;
  for (auto& point : tier.sweep)
    point.seconds = synthetic::sampled(1e-3, 0.01, 10, random);
  CHECK_FALSE(reason_of(tier, {}).empty());

  tier = good;
  tier.sweep[3].seconds.median_s = std::nan("");
  CHECK_THAT(reason_of(tier, {}), Catch::Matchers::Contains("no positive time"));

  tier = good;
  tier.status = "uncalibrated";
  tier.reason = "tmpfs";
  CHECK(reason_of(tier, {}) == "tmpfs");
}

namespace {

/// Pieces from 4 KiB to 4 MiB, with times of `truth` and noise.
profile::Tier piece_sweep(const std::function<double(double bytes, double pieces)>& truth,
                          double noise, std::uint64_t seed) {
  measure::Random random(seed);
  profile::Tier tier;
  tier.name = "memory";
  tier.layout = {"block", 256, 1};
  for (std::int64_t bytes = 1 << 20; bytes <= 1 << 28; bytes *= 16)
    for (std::int64_t size = 4096; size <= std::min<std::int64_t>(bytes, 4 << 20); size *= 4) {
      profile::SweepPoint point;
      point.bytes = bytes;
      point.pieces = bytes / size;
      point.seconds = synthetic::sampled(
          truth(static_cast<double>(bytes), static_cast<double>(point.pieces)), noise, 12, random);
      tier.sweep.push_back(point);
    }
  return tier;
}

} // namespace

TEST_CASE("a knee in piece size is found where there is one") {
  // Submitting takes 3 us a piece and overlaps with moving it at 20 GB/s: the knee is at 60 kB.
  const auto overlapped = [](double bytes, double pieces) {
    return 1e-5 + std::max(pieces * 3e-6, bytes / 20e9);
  };
  fit::LoadModelOptions options;
  options.piecewise = true;
  profile::Tier tier = piece_sweep(overlapped, 0.01, 3);
  fit::fit_tier(tier, options);
  REQUIRE(tier.status == "calibrated");
  REQUIRE(tier.load->knee);
  CHECK(tier.load->knee->piece_bytes > 16384);
  CHECK(tier.load->knee->piece_bytes < 262144);
  CHECK(tier.load->bandwidth[0].bandwidth_Bps.value == Approx(20e9).epsilon(0.1));
  CHECK(tier.load->holdout_worst_error < 0.15);

  profile::Tier plain = piece_sweep(overlapped, 0.01, 3);
  fit::fit_tier(plain, {});
  CHECK_FALSE(plain.load.has_value()); // the gate catches what the plain model cannot describe
}

TEST_CASE("no knee is seen where there is none") {
  fit::LoadModelOptions options;
  options.piecewise = true;
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    for (const double noise : {0.005, 0.05}) {
      profile::Tier tier = piece_sweep(
          [](double bytes, double pieces) { return 1e-4 + pieces * 2e-7 + bytes / 1e10; }, noise,
          seed);
      fit::fit_tier(tier, options);
      REQUIRE(tier.status == "calibrated");
      CHECK_FALSE(tier.load->knee);
    }
}

TEST_CASE("a point that was measured badly does not condemn the model") {
  measure::Random random(5);
  profile::Tier tier = synthetic::tier("memory", {1e-3, 1e-5, 8e9}, {0.01, 10}, random);
  profile::SweepPoint bad = tier.sweep.back();
  bad.holdout = true;
  const double right = bad.seconds.median_s;
  bad.seconds.median_s = 1.6 * right;
  bad.seconds.lo_s = 0.9 * right;
  bad.seconds.hi_s = 2 * right;
  tier.sweep.push_back(bad);
  fit::fit_tier(tier, {});
  REQUIRE(tier.status == "calibrated");
  CHECK(tier.load->holdout_worst_error > 0.25); // reported as it is
}
