#include "support/catch.hpp"

#include "synthetic.hpp"

#include "support/error.hpp"

#include <chrono>
#include <cstdlib>
#include <iostream>

using namespace breakeven;
using fit::LoadFit;
using profile::Verdict;
using synthetic::Engine;
using synthetic::Noise;

namespace {

profile::Tier exact_tier(const LoadFit& truth, std::int64_t chunk_tokens,
                         std::int64_t pieces_per_chunk) {
  measure::Random random(1);
  profile::Tier tier = synthetic::tier("memory", truth, {0, 6}, random);
  tier.layout = {"test", chunk_tokens, pieces_per_chunk};
  tier.status = "calibrated";
  tier.load.emplace();
  tier.load->fixed_s = {truth.fixed_s, truth.fixed_s, truth.fixed_s};
  tier.load->piece_s = {truth.piece_s, truth.piece_s, truth.piece_s};
  tier.load->bandwidth = {{1, {truth.bandwidth_Bps, truth.bandwidth_Bps, truth.bandwidth_Bps}}};
  tier.sweep.clear(); // as in a predicted file: the constants are all there is
  return tier;
}

/// By asking every length.
std::int64_t brute_force(const profile::BreakEvenFile& file, const LoadFit& load,
                         const profile::Layout& layout) {
  const fit::PrefillCurve curve(file.prefill, file.model.chunk_tokens);
  const std::int64_t stride = std::max<std::int64_t>(1, file.model.checkpoint_tokens);
  std::int64_t smallest = 0;
  for (std::int64_t p = file.calibrated_lengths.back() / stride * stride;
       p >= file.calibrated_lengths.front(); p -= stride) {
    const double margin = curve.saved_s(0, p, p + 1) -
                          load.load_s(fit::kv_bytes(file.model, p), fit::pieces(layout, p));
    if (margin <= 0) break;
    smallest = p;
  }
  return smallest;
}

double margin_at(const profile::BreakEvenFile& file, const LoadFit& load,
                 const profile::Layout& layout, std::int64_t p) {
  const fit::PrefillCurve curve(file.prefill, file.model.chunk_tokens);
  return curve.saved_s(0, p, p + 1) -
         load.load_s(fit::kv_bytes(file.model, p), fit::pieces(layout, p));
}

void check_all_finite(const profile::BreakEvenFile& file) {
  const auto finite = [](const profile::Estimate& e) {
    CHECK(std::isfinite(e.value));
    CHECK(std::isfinite(e.lo));
    CHECK(std::isfinite(e.hi));
    CHECK(e.lo <= e.value);
    CHECK(e.value <= e.hi);
  };
  for (const auto& length : file.lengths) {
    finite(length.saved_s);
    CHECK(std::isfinite(length.break_even_Bps));
    for (const auto& tier : length.tiers)
      finite(tier.load_s);
  }
  for (const auto& point : file.frontier)
    CHECK(std::isfinite(point.fraction));
}

} // namespace

TEST_CASE("the break-even length is what asking every length gives") {
  measure::Random random(11);
  int at = 0;
  for (int round = 0; round < 300; ++round) {
    Engine engine;
    engine.chunk_tokens = 64 + static_cast<std::int64_t>(random.below(1500));
    engine.weights_s = 0.05 * random.uniform();
    profile::BreakEvenFile file = synthetic::file(engine, {0.3 * random.uniform(), 6}, random);
    file.calibrated_lengths = {1 + static_cast<std::int64_t>(random.below(300)), 1000,
                               3000 + static_cast<std::int64_t>(random.below(4000))};
    file.model.kv_bytes_per_token = 1000 + static_cast<std::int64_t>(random.below(100000));
    if (round % 3 == 0) file.model.kv_windows = {{700, 50000}};
    if (round % 5 == 0) file.model.checkpoint_tokens = 96;
    const LoadFit load{0.3 * random.uniform(), 0.02 * random.uniform() * random.uniform(),
                       1e8 + 1e9 * random.uniform()};
    const auto chunk = static_cast<std::int64_t>(1 + random.below(round % 2 == 0 ? 600 : 3));
    file.tiers = {exact_tier(load, chunk, 1 + static_cast<std::int64_t>(random.below(3)))};
    fit::BreakEvenOptions options;
    options.replicates = 0;
    fit::solve(file, options);

    const std::int64_t expected = brute_force(file, load, file.tiers[0].layout);
    const profile::BreakEven& result = file.tiers[0].break_even;
    INFO("round " << round << " expected " << expected << " got " << result.tokens);
    if (expected == 0) {
      CHECK(result.verdict == Verdict::never);
    } else if (result.tokens != expected) {
      // Only where the margin is zero to rounding may the two differ.
      CHECK(std::abs(margin_at(file, load, file.tiers[0].layout,
                               std::min(expected, result.tokens))) < 1e-12);
    }
    at += result.verdict == Verdict::at ? 1 : 0;
    check_all_finite(file);
  }
  CHECK(at > 50); // the rounds are not all "never"
}

TEST_CASE("always and never are answers") {
  measure::Random random(2);
  profile::BreakEvenFile file = synthetic::file({}, {0.02, 12}, random);
  file.tiers = {synthetic::tier("fast", {1e-6, 0, 1e11}, {0.02, 12}, random),
                synthetic::tier("slow", {1e-3, 0, 1e7}, {0.02, 12}, random),
                synthetic::tier("dear", {1e9, 0, 1e7}, {0.02, 12}, random)};
  for (auto& tier : file.tiers)
    fit::fit_tier(tier, {});
  file.tiers[2].load->bandwidth.clear();
  fit::solve(file, {});
  const auto& fast = file.tiers[0].break_even;
  CHECK(fast.verdict == Verdict::always);
  CHECK(fast.tokens == 128);
  CHECK(file.tiers[1].break_even.verdict == Verdict::never);
  CHECK(file.tiers[1].break_even.hi_tokens == 0);
  CHECK(file.tiers[2].break_even.verdict == Verdict::uncalibrated);
  CHECK_FALSE(file.tiers[2].break_even.reason.empty());
  for (const auto& length : file.lengths) {
    REQUIRE(length.tiers.size() == 2);
    CHECK(length.tiers[0].winner == "load");
    CHECK(length.tiers[1].winner == "recompute");
  }
  for (const auto& point : file.frontier) {
    if (point.tier == "slow") CHECK(point.fraction > 1);
    if (point.tier == "fast") CHECK(point.fraction < 1);
  }
  check_all_finite(file);
}

TEST_CASE("a dead heat is inconclusive, with a reason") {
  measure::Random random(2);
  const Engine engine;
  profile::BreakEvenFile file = synthetic::file(engine, {0.2, 8}, random);
  file.calibrated_lengths = {1024, 1300, 1536};
  const fit::PrefillCurve curve(file.prefill, engine.chunk_tokens);
  // A tier whose time at the middle equals what is saved there, up to the noise.
  const double rate =
      static_cast<double>(fit::kv_bytes(file.model, 1300)) / curve.saved_s(0, 1300, 1301);
  file.tiers = {synthetic::tier("even", {0, 0, rate}, {0.2, 8}, random)};
  fit::LoadModelOptions loose;
  loose.max_holdout_error = 10;
  fit::fit_tier(file.tiers[0], loose);
  REQUIRE(file.tiers[0].status == "calibrated");
  fit::solve(file, {});
  const auto& result = file.tiers[0].break_even;
  CHECK(result.verdict == Verdict::inconclusive);
  CHECK_FALSE(result.reason.empty());
  CHECK(result.hi_tokens == 0);
  bool tie = false;
  for (const auto& length : file.lengths)
    tie = tie || length.tiers[0].winner == "tie";
  CHECK(tie);
}

TEST_CASE("two calibrations of one machine agree, and hold the true length") {
  const Engine engine;
  const LoadFit truth{0.08, 1e-4, 2e9};
  measure::Random quiet(1);
  profile::BreakEvenFile exact = synthetic::file(engine, {0, 6}, quiet);
  const std::int64_t true_length = brute_force(exact, truth, {"", 256, 1});
  REQUIRE(true_length > 200);

  int overlapping = 0, covering = 0;
  const int rounds = 100;
  std::int64_t lo = 0, hi = 0;
  for (int round = 0; round <= rounds; ++round) {
    measure::Random random(1000 + static_cast<std::uint64_t>(round));
    profile::BreakEvenFile file = synthetic::file(engine, {0.03, 15}, random);
    file.tiers = {synthetic::tier("file", truth, {0.03, 15}, random)};
    fit::fit_tier(file.tiers[0], {});
    fit::solve(file, {});
    const auto& result = file.tiers[0].break_even;
    REQUIRE(result.verdict == Verdict::at);
    REQUIRE(result.lo_tokens <= result.tokens);
    REQUIRE(result.tokens <= result.hi_tokens);
    if (round > 0) {
      overlapping += result.lo_tokens <= hi && lo <= result.hi_tokens;
      covering += result.lo_tokens <= true_length && true_length <= result.hi_tokens;
    }
    lo = result.lo_tokens;
    hi = result.hi_tokens;
  }
  INFO("overlapping " << overlapping << ", covering " << covering << " of " << rounds);
  CHECK(overlapping >= 97);
  CHECK(covering >= 85);
}

TEST_CASE("another tier does not change a tier's answer, and neither does a second look") {
  measure::Random random(2);
  profile::BreakEvenFile file = synthetic::file({}, {0.03, 12}, random);
  file.tiers = {synthetic::tier("a", {0.08, 1e-4, 2e9}, {0.03, 12}, random)};
  fit::fit_tier(file.tiers[0], {});
  fit::solve(file, {});
  const profile::BreakEven before = file.tiers[0].break_even;
  file.tiers.push_back(synthetic::tier("b", {0.01, 1e-4, 3e9}, {0.03, 12}, random));
  fit::fit_tier(file.tiers[1], {});
  fit::solve(file, {});
  CHECK(file.tiers[0].break_even.tokens == before.tokens);
  CHECK(file.tiers[0].break_even.lo_tokens == before.lo_tokens);
  CHECK(file.tiers[0].break_even.hi_tokens == before.hi_tokens);
}

TEST_CASE("whole steps that were predicted badly widen the interval") {
  measure::Random random(2);
  profile::BreakEvenFile file = synthetic::file({}, {0.01, 15}, random);
  file.tiers = {synthetic::tier("a", {0.08, 1e-4, 2e9}, {0.01, 15}, random)};
  fit::fit_tier(file.tiers[0], {});
  fit::solve(file, {});
  const auto narrow = file.tiers[0].break_even;
  profile::StepCheck check;
  check.relative_error = 0.2;
  file.prefill.step_checks = {check, check};
  fit::solve(file, {});
  const auto wide = file.tiers[0].break_even;
  CHECK(wide.lo_tokens < narrow.lo_tokens);
  CHECK((wide.hi_tokens == 0 || wide.hi_tokens > narrow.hi_tokens));
}

TEST_CASE("break-even bandwidth ties at its length") {
  measure::Random random(2);
  profile::BreakEvenFile file = synthetic::file({}, {0.01, 15}, random);
  file.tiers = {};
  fit::solve(file, {});
  const fit::PrefillCurve curve(file.prefill, file.model.chunk_tokens);
  REQUIRE(file.lengths.size() == file.calibrated_lengths.size());
  for (const auto& length : file.lengths) {
    const std::int64_t p = length.prefix_tokens;
    CHECK(length.kv_bytes == fit::kv_bytes(file.model, p));
    CHECK(static_cast<double>(length.kv_bytes) / length.break_even_Bps ==
          Approx(curve.saved_s(0, p, p + 1)));
  }
}

TEST_CASE("the frontier is where loading starts to win, by asking every cached length") {
  measure::Random random(4);
  for (int round = 0; round < 20; ++round) {
    Engine engine;
    engine.chunk_tokens = 512;
    profile::BreakEvenFile file = synthetic::file(engine, {0, 6}, random);
    file.calibrated_lengths = {500, 2000, 5000};
    const LoadFit load{0.1 * random.uniform(), 1e-4, 3e8 + 1e9 * random.uniform()};
    file.tiers = {exact_tier(load, 256, 1)};
    fit::solve(file, {});
    const fit::PrefillCurve curve(file.prefill, engine.chunk_tokens);
    REQUIRE(file.frontier.size() == 3);
    for (const auto& point : file.frontier) {
      const std::int64_t prompt = point.prompt_tokens;
      std::int64_t smallest = 0;
      for (std::int64_t q = prompt - 1; q >= 1; --q) {
        if (curve.saved_s(0, q, prompt) <=
            load.load_s(fit::kv_bytes(file.model, q), fit::pieces(file.tiers[0].layout, q)))
          break;
        smallest = q;
      }
      INFO("prompt " << prompt << " smallest " << smallest);
      if (smallest == 0)
        CHECK(point.fraction > 1);
      else
        CHECK(point.fraction * static_cast<double>(prompt) ==
              Approx(static_cast<double>(smallest)).margin(static_cast<double>(prompt) / 20));
    }
  }
}

TEST_CASE("a knee in the file counts in the answers") {
  measure::Random random(2);
  profile::BreakEvenFile file = synthetic::file({}, {0, 6}, random);
  const LoadFit load{0.05, 1e-4, 1e9, 65536, 1e-8}; // 256 tokens are 8 MiB in 128 pieces of 64 KiB
  profile::Tier tier = exact_tier(load, 256, 128);
  tier.load->knee = profile::PieceKnee{65536, {1e-8, 1e-8, 1e-8}};
  file.tiers = {tier};
  fit::solve(file, {});
  const std::int64_t expected = brute_force(file, load, tier.layout);
  REQUIRE(expected > 0);
  CHECK(std::abs(file.tiers[0].break_even.tokens - expected) <= 256);
  CHECK(file.lengths[3].tiers[0].load_s.value ==
        Approx(load.load_s(fit::kv_bytes(file.model, 2048), 1024)));
}

TEST_CASE("what cannot be solved is refused") {
  measure::Random random(2);
  profile::BreakEvenFile file = synthetic::file({}, {0.01, 6}, random);
  file.calibrated_lengths.clear();
  CHECK_THROWS_AS(fit::solve(file, {}), error);
  file.calibrated_lengths = {0, 100};
  CHECK_THROWS_AS(fit::solve(file, {}), error);
  file.calibrated_lengths = {100, std::int64_t{1} << 60};
  CHECK_THROWS_AS(fit::solve(file, {}), error);
  file.calibrated_lengths = {100};
  fit::BreakEvenOptions options;
  options.confidence = 1;
  CHECK_THROWS_AS(fit::solve(file, options), error);
}

TEST_CASE("solving with 200 replicates, 3 tiers and a million tokens", "[.speed]") {
  for (const std::int64_t longest : {std::int64_t{32768}, std::int64_t{1} << 20}) {
    measure::Random random(2);
    profile::BreakEvenFile file = synthetic::file({}, {0.02, 20}, random);
    while (file.calibrated_lengths.back() < longest)
      file.calibrated_lengths.push_back(2 * file.calibrated_lengths.back());
    for (const char* name : {"a", "b", "c"})
      file.tiers.push_back(synthetic::tier(name, {0.08, 1e-4, 2e9}, {0.02, 20}, random));
    const auto start = std::chrono::steady_clock::now();
    for (auto& tier : file.tiers)
      fit::fit_tier(tier, {});
    const auto fitted = std::chrono::steady_clock::now();
    fit::solve(file, {});
    const auto end = std::chrono::steady_clock::now();
    std::cout << "to " << longest << " tokens: fit_tier x3 "
              << std::chrono::duration<double>(fitted - start).count() << " s, solve "
              << std::chrono::duration<double>(end - fitted).count() << " s\n";
    CHECK(file.tiers[0].break_even.verdict == Verdict::at);
  }
}

TEST_CASE("a solved file survives being written and read") {
  measure::Random random(6);
  profile::BreakEvenFile file = synthetic::file({}, {0.02, 12}, random);
  file.tiers = {synthetic::tier("even", {0.08, 1e-4, 2e9}, {0.02, 12}, random),
                synthetic::tier("slow", {1e-3, 0, 1e7}, {0.02, 12}, random),
                synthetic::tier("few", {1e-3, 0, 1e7}, {0.02, 12}, random)};
  file.tiers[2].sweep.resize(1);
  for (auto& tier : file.tiers) fit::fit_tier(tier, {});
  fit::solve(file, {});
  const profile::BreakEven before = file.tiers[0].break_even;
  std::vector<double> load_s;
  for (const auto& length : file.lengths) load_s.push_back(length.tiers[0].load_s.value);

  file = profile::from_json_text(profile::to_json_text(file), "test");
  fit::solve(file, {}); // the raw samples are in the file: solving again changes nothing
  CHECK(file.tiers[0].break_even.tokens == before.tokens);
  CHECK(file.tiers[0].break_even.lo_tokens == before.lo_tokens);
  CHECK(file.tiers[0].break_even.hi_tokens == before.hi_tokens);
  for (std::size_t i = 0; i < load_s.size(); ++i)
    CHECK(file.lengths[i].tiers[0].load_s.value == Approx(load_s[i]));
  CHECK_FALSE(profile::to_json_text(file).empty());
}
