#include "support/catch.hpp"

#include "noisy.hpp"

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;
using compare::FailOn;
using compare::Overall;
using compare::Verdict;

namespace {

compare::Comparison run(const profile::BreakEvenFile& base, const profile::BreakEvenFile& next,
                        const compare::Options& options = {}) {
  return compare::compare(input(base), input(next), options);
}

} // namespace

TEST_CASE("identical files are the same in every quantity that has enough samples") {
  const profile::BreakEvenFile file = measured_in({});
  const compare::Comparison c = run(file, file);
  CHECK(c.overall == Overall::same);
  CHECK(c.comparable());
  CHECK(c.differences.empty());
  CHECK(c.counts.same == c.quantities.size());
  CHECK(compare::failure(c, FailOn::inconclusive).empty());
}

TEST_CASE("runs of an unchanged node that drift as stated raise few alarms") {
  int alarms = 0;
  constexpr int pairs = 100;
  for (int i = 0; i < pairs; ++i) {
    Run a{.seed = 1000 + 2u * static_cast<unsigned>(i), .drift = 0.02}, b = a;
    b.seed += 1;
    const compare::Comparison c = run(measured_in(a), measured_in(b));
    if (!compare::failure(c, FailOn::changed).empty()) ++alarms;
  }
  CHECK(alarms <= 5);
}

TEST_CASE("a slow-down well above drift is found, and where it is") {
  int found = 0;
  for (unsigned i = 0; i < 40; ++i) {
    const Run a{.seed = 10 + 2 * i, .drift = 0.02};
    const Run b{.seed = 11 + 2 * i, .drift = 0.02, .compute = 1.3};
    const compare::Comparison c = run(measured_in(a), measured_in(b));
    if (c.overall != Overall::regressed) continue;
    ++found;
    const compare::Quantity& step = find(c, "dense part of a step", "1,024 new tokens");
    CHECK(step.ratio > 1.1);
    CHECK(find(c, "tier disk", "load of 97.7 MiB in 4 pieces").verdict != Verdict::slower);
  }
  CHECK(found >= 36);
}

TEST_CASE("a slower tier is slower, its reverse faster, and bandwidth has its own direction") {
  const profile::BreakEvenFile base = measured_in({.seed = 5});
  const profile::BreakEvenFile slow = measured_in({.seed = 6, .load = 2});
  const compare::Comparison worse = run(base, slow), better = run(slow, base);
  CHECK(find(worse, "tier disk", "bandwidth").verdict == Verdict::slower);
  CHECK(find(worse, "tier disk", "bandwidth").ratio == Approx(0.5).epsilon(0.01));
  CHECK(find(better, "tier disk", "bandwidth").verdict == Verdict::faster);
  CHECK(find(worse, "tier disk", "fixed cost").verdict == Verdict::slower);
  CHECK(find(worse, "tier disk", "break-even length").verdict == Verdict::changed);
  CHECK(worse.overall == Overall::regressed);
  CHECK(compare::failure(worse, FailOn::regressed) != "");
  CHECK(better.overall == Overall::changed); // the break-even length moved as well
  CHECK(compare::failure(better, FailOn::regressed).empty());
  CHECK(compare::failure(better, FailOn::changed) != "");
}

TEST_CASE("changes below the threshold are none, however sure") {
  const profile::BreakEvenFile base = measured_in({.seed = 5, .noise = 1e-4});
  const profile::BreakEvenFile next = measured_in({.seed = 6, .noise = 1e-4, .compute = 1.02});
  compare::Options options;
  options.run_to_run = {0, 0, 0};
  CHECK(run(base, next, options).overall == Overall::same);
  options.threshold = 0.01;
  CHECK(run(base, next, options).overall == Overall::regressed);
}

TEST_CASE("one sample is inconclusive and says so") {
  profile::BreakEvenFile base = measured_in({.seed = 5}), next = measured_in({.seed = 6});
  next.prefill.dense.seconds[1] = {0.9, 0.9, 0.9, 1, "time cap", {0.9}};
  const compare::Comparison c = run(base, next);
  const compare::Quantity& q = find(c, "dense part of a step", "256 new tokens");
  CHECK(q.verdict == Verdict::inconclusive);
  CHECK_THAT(q.reason, Contains("one sample in NEW"));
  CHECK(compare::failure(c, FailOn::regressed).empty());
  CHECK(compare::failure(c, FailOn::inconclusive) != "");
}

TEST_CASE("values without samples are judged by their intervals, or not at all") {
  profile::BreakEvenFile base = measured_in({.seed = 5}), next = base;
  const auto strip = [](profile::Measurement& m, double factor) {
    m = {m.median_s * factor, m.lo_s * factor, m.hi_s * factor, 0, "predicted", {}};
  };
  for (profile::Measurement& m : next.prefill.dense.seconds)
    strip(m, 2);
  next.prefill.dense.seconds[0].lo_s = next.prefill.dense.seconds[0].hi_s =
      next.prefill.dense.seconds[0].median_s;
  const compare::Comparison c = run(base, next);
  CHECK(find(c, "dense part of a step", "256 new tokens").verdict == Verdict::slower);
  CHECK(find(c, "dense part of a step", "256 new tokens").rank_p == -1);
  const compare::Quantity& bare = find(c, "dense part of a step", "1 new tokens");
  CHECK(bare.verdict == Verdict::inconclusive);
  CHECK_THAT(bare.reason, Contains("no samples and no interval in NEW"));
}

TEST_CASE("predicted files compare, with a note") {
  profile::BreakEvenFile base = sample_file(), next;
  base.status = "predicted";
  const auto strip = [](profile::Measurement& m) {
    m.samples_s.clear();
    m.count = 0;
    m.lo_s = m.hi_s = m.median_s;
  };
  for (profile::Measurement& m : base.prefill.dense.seconds)
    strip(m);
  for (auto& row : base.prefill.attention[0].seconds)
    for (profile::Measurement& m : row)
      strip(m);
  base.tiers[0].sweep.clear();
  const compare::Comparison itself = run(base, base);
  CHECK(itself.overall == Overall::same);
  CHECK(itself.counts.inconclusive == 0);
  const compare::Comparison c = run(base, measured_in({}));
  REQUIRE(!c.differences.empty());
  CHECK(c.differences[0].what == "status");
  CHECK(c.counts.slower + c.counts.faster == 0);
}

TEST_CASE("a tier in one file only, or calibrated in one only, has a verdict") {
  const profile::BreakEvenFile both = measured_in({});
  profile::BreakEvenFile none = both, failed = both;
  none.tiers.clear();
  failed.tiers[0].status = "uncalibrated";
  failed.tiers[0].reason = "it broke the limit of its link";
  failed.tiers[0].load.reset();
  failed.tiers[0].break_even = {
      profile::Verdict::uncalibrated, failed.tiers[0].reason, 0, 0, 0, .95};

  const compare::Comparison gone = run(both, none), came = run(none, both);
  CHECK(find(gone, "tier disk", "tier").verdict == Verdict::changed);
  CHECK(find(gone, "tier disk", "tier").lost);
  CHECK(gone.overall == Overall::regressed);
  CHECK(find(came, "tier disk", "tier").verdict == Verdict::changed);
  CHECK(came.overall == Overall::changed);

  const compare::Comparison broke = run(both, failed), mended = run(failed, both);
  CHECK(find(broke, "tier disk", "load model").lost);
  CHECK_THAT(find(broke, "tier disk", "load model").reason, Contains("broke the limit"));
  CHECK_FALSE(find(mended, "tier disk", "load model").lost);
  const compare::Comparison still = run(failed, failed);
  CHECK(find(still, "tier disk", "load model").verdict == Verdict::inconclusive);
  CHECK(still.overall == Overall::same);
}

TEST_CASE("break-even lengths of every kind have a verdict against each other") {
  const profile::BreakEvenFile plain = measured_in({});
  const auto judged = [&](const profile::BreakEven& a, const profile::BreakEven& b) {
    profile::BreakEvenFile base = plain, next = plain;
    base.tiers[0].break_even = a;
    next.tiers[0].break_even = b;
    // Without a load model to shift, the intervals of the file stand alone.
    compare::Options options;
    options.run_to_run = {0, 0, 0};
    return find(run(base, next, options), "tier disk", "break-even length");
  };
  using profile::BreakEven;
  const BreakEven near{profile::Verdict::at, "", 112, 100, 125, 0.95};
  const BreakEven far{profile::Verdict::at, "", 6000, 5000, 7000, 0.95};
  const BreakEven open{profile::Verdict::at, "", 6000, 5000, 0, 0.95};
  const BreakEven never{profile::Verdict::never, "", 0, 0, 0, 0.95};
  const BreakEven always{profile::Verdict::always, "", 64, 64, 64, 0.95};
  const BreakEven unsure{profile::Verdict::inconclusive, "too noisy", 0, 64, 0, 0.95};
  CHECK(judged(near, near).verdict == Verdict::same);
  CHECK(judged(near, far).verdict == Verdict::changed);
  CHECK_THAT(judged(near, far).reason, Contains("longer"));
  CHECK(judged(unsure, far).verdict == Verdict::inconclusive);
  CHECK_THAT(judged(unsure, far).reason, Contains("too noisy"));
  // The file's load model crosses near 112 tokens, so these are held against that, too.
  CHECK(judged(open, never).verdict == Verdict::inconclusive);
  CHECK(judged(never, never).verdict == Verdict::same);
  CHECK(judged(always, always).verdict == Verdict::same);
  CHECK(judged(far, near).base.text == "6,000 tokens");
  CHECK(judged(never, near).base.text == "never up to 16,384");
}

TEST_CASE("never against 6,000 tokens is a change") {
  profile::BreakEvenFile base = measured_in({}), next = base;
  // 1 GB/s with 0.1 s fixed cost wins near 112 tokens; 0.05 GB/s never does; 6 s of fixed cost
  // win near 6,000 tokens.
  base.tiers[0].load->bandwidth = {{1, {0.05e9, 0.049e9, 0.051e9}}};
  base.tiers[0].break_even = {profile::Verdict::never, "", 0, 0, 0, 0.95};
  next.tiers[0].load->fixed_s = {6, 5.9, 6.1};
  next.tiers[0].break_even = {profile::Verdict::at, "", 6000, 5500, 6500, 0.95};
  const compare::Quantity q = find(run(base, next), "tier disk", "break-even length");
  CHECK(q.verdict == Verdict::changed);
  CHECK(q.base.text == "never up to 16,384");
  CHECK(q.next.text == "6,000 tokens");
}

TEST_CASE("other models, dtypes and kinds of tier are not compared, and named") {
  const profile::BreakEvenFile base = measured_in({});
  profile::BreakEvenFile next = base;
  next.model.name = "other";
  next.prefill.compute_dtype = "bf16";
  const compare::Comparison c = run(base, next);
  CHECK_FALSE(c.comparable());
  CHECK(c.overall == Overall::incomparable);
  CHECK(c.differences[0].what == "model");
  CHECK(c.differences[0].blocking);
  CHECK(find(c, "dense part of a step", "256 new tokens").verdict == Verdict::inconclusive);
  CHECK_THAT(find(c, "dense part of a step", "256 new tokens").reason, Contains("not comparable"));
  CHECK(compare::failure(c, FailOn::regressed) != "");

  profile::BreakEvenFile tape = base;
  tape.tiers[0].kind = "tape";
  const compare::Comparison tiers = run(base, tape);
  CHECK(tiers.comparable());
  CHECK(find(tiers, "tier disk", "bandwidth").verdict == Verdict::inconclusive);
  CHECK(find(tiers, "dense part of a step", "256 new tokens").verdict == Verdict::same);

  profile::BreakEvenFile chunks = base;
  chunks.model.chunk_tokens = 512;
  const compare::Comparison steps = run(base, chunks);
  CHECK(find(steps, "tier disk", "break-even length").verdict == Verdict::inconclusive);
  CHECK(find(steps, "dense part of a step", "256 new tokens").verdict == Verdict::same);
}

TEST_CASE("facts that moved are named, with what they mean") {
  const profile::BreakEvenFile base = measured_in({.seed = 5});
  profile::BreakEvenFile next = measured_in({.seed = 6, .compute = 2});
  next.node.governor = "powersave";
  next.node.kernel = "6.9";
  next.tiers[0].identity["drive"] = "another drive";
  next.warnings.push_back({"throttled", "12 samples were discarded"});
  profile::BreakEvenFile with_governor = base;
  with_governor.node.governor = "performance";
  const compare::Comparison c = run(with_governor, next);
  std::string names;
  for (const compare::Difference& d : c.differences)
    names += d.what + ";";
  CHECK_THAT(names, Contains("CPU governor") && Contains("kernel") && Contains("tier disk drive"));
  const compare::Quantity& q = find(c, "dense part of a step", "256 new tokens");
  CHECK(q.verdict == Verdict::slower);
  CHECK_THAT(q.reason, Contains("throttled in NEW") && Contains("powersave"));
}

TEST_CASE("points that one file alone measured are counted, not compared") {
  const profile::BreakEvenFile base = measured_in({});
  profile::BreakEvenFile next = base;
  next.prefill.dense.new_tokens[1] = 300;
  const compare::Comparison c = run(base, next);
  REQUIRE(c.differences.size() == 1);
  CHECK_THAT(c.differences[0].effect, Contains("1 are in BASE only and 1 in NEW only"));
}

TEST_CASE("a run on a busy machine proves nothing") {
  const profile::BreakEvenFile base = measured_in({.seed = 5});
  profile::BreakEvenFile next = measured_in({.seed = 6, .compute = 2});
  next.warnings.push_back({"busy", "other processes used 45 % of the CPUs"});
  const compare::Comparison c = run(base, next);
  CHECK(c.counts.slower == 0);
  CHECK(c.overall == Overall::inconclusive);
  CHECK(compare::failure(c, FailOn::changed).empty());
  CHECK_FALSE(compare::failure(c, FailOn::inconclusive).empty());
  const compare::Quantity& q = find(c, "dense part of a step", "256 new tokens");
  CHECK_THAT(q.reason, Contains("slower, but") && Contains("NEW was"));
}
