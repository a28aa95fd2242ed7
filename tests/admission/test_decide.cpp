#include "support/catch.hpp"

#include "admission/sample.hpp"

#include <cstdlib>

using namespace breakeven;
using namespace sample;

namespace {

struct Best {
  std::int64_t tokens; ///< 0 = recompute
  double cost_s;
};

/// Tries every block boundary.
Best exhaustive(const File& file, const Request& request) {
  Best best{0, cost(file, request, request.resident)};
  std::int64_t unit = request.block > 0 ? request.block : file.block;
  if (file.checkpoint > 0) {
    std::int64_t common = file.checkpoint;
    while (common % unit != 0)
      common += file.checkpoint;
    unit = common;
  }
  std::int64_t hit = 0;
  for (const Part& part : request.parts) {
    const TierVerdict verdict = file.tiers[static_cast<std::size_t>(part.tier)].verdict;
    if (std::min(part.end, request.prompt - 1) <= std::max(hit, request.resident)) continue;
    if (verdict == TierVerdict::never || verdict == TierVerdict::uncalibrated) break;
    hit = std::min(part.end, request.prompt - 1);
  }
  for (std::int64_t tokens = unit; tokens <= hit; tokens += unit) {
    if (tokens <= request.resident) continue;
    const double here = cost(file, request, tokens);
    if (here < best.cost_s) best = {tokens, here};
  }
  return best;
}

void check_against_exhaustive(const File& file, const Policy& policy, const Request& request) {
  const Best best = exhaustive(file, request);
  const Decision decision = decide(policy, to_query(request));
  const double chosen =
      cost(file, request, decision.load ? decision.load_tokens.value : request.resident);
  INFO("prompt " << request.prompt << " resident " << request.resident << " chunk " << file.chunk
                 << " best " << best.tokens << " chosen " << decision.load_tokens.value << " "
                 << to_string(decision.reason));
  REQUIRE(chosen <= best.cost_s * (1 + 1e-9) + 1e-12);
  if (decision.load) {
    REQUIRE(decision.load_tokens.value > request.resident);
    REQUIRE(decision.load_tokens.value < request.prompt);
    REQUIRE(decision.reason == Reason::load_is_faster);
    REQUIRE(decision.margin_s > 0);
    REQUIRE(decision.load_s ==
            Approx(load_s(file, request,
                          best.tokens == decision.load_tokens.value ? best.tokens
                                                                    : decision.load_tokens.value))
                .epsilon(1e-9)
                .margin(1e-15));
  } else {
    REQUIRE(decision.load_tokens.value == 0);
    REQUIRE(decision.reason != Reason::load_is_faster);
  }
}

} // namespace

TEST_CASE("the split found costs what exhaustive search over all block boundaries finds") {
  std::mt19937_64 random(10);
  int loads = 0, partial = 0;
  // BREAKEVEN_TEST_ROUNDS=100 searches longer than a test run should.
  const char* rounds = std::getenv("BREAKEVEN_TEST_ROUNDS");
  const int files = 2500 * (rounds ? std::max(1, std::atoi(rounds)) : 1);
  for (int i = 0; i < files; ++i) {
    const File file = random_file(random, i % 3 == 0 ? 0.0 : i % 3 == 1 ? 0.05 : 0.4);
    const Policy policy = make_policy(file);
    for (int k = 0; k < 3; ++k) {
      const Request request = random_request(random, file, k < 2 ? 1 : 4);
      check_against_exhaustive(file, policy, request);
      const Decision decision = decide(policy, to_query(request));
      loads += decision.load;
      partial += decision.load && decision.load_tokens.value + 300 < request.parts.back().end;
    }
  }
  // The comparison means something only while all kinds of answers occur.
  CHECK(loads > files / 5);
  CHECK(loads < files * 13 / 5);
  CHECK(partial > files / 25);
}

TEST_CASE("where the last token lies decides what a hybrid's state costs") {
  // A longer hit may be faster to load when its last part lies in the faster tier, and shorter ones
  // within that part faster still.
  std::mt19937_64 random(11);
  int loads = 0;
  for (int i = 0; i < 2000; ++i) {
    File file = random_file(random, 0.0);
    if (file.tiers.size() < 2) continue;
    file.checkpoint = 16 << random() % 3;
    file.state_bytes = 1'000'000 << random() % 8;
    // A memory-bound step: computing a few tokens more costs next to nothing.
    file.dense.assign(file.dense.size(), file.dense[0]);
    for (double& rate : file.tiers[0].bandwidth_Bps)
      rate *= 100;
    const Policy policy = make_policy(file);
    for (int k = 0; k < 4; ++k) {
      Request request = random_request(random, file, 2);
      const auto first = static_cast<std::int64_t>(1 + random() % 400);
      const auto end = first + static_cast<std::int64_t>(1 + random() % 400);
      request.parts = {{1, first}, {0, end}};
      request.resident = 0;
      request.queue_wait_s = 0;
      request.prompt = end + static_cast<std::int64_t>(1 + random() % 100);
      check_against_exhaustive(file, policy, request);
      loads += decide(policy, to_query(request)).load;
    }
  }
  CHECK(loads > 200);
}

TEST_CASE("the decision is the inequality of the README") {
  const File file = plain();
  const Policy policy = make_policy(file);
  const TierId memory = policy.find_tier("memory");
  const Decision decision = decide(policy, {Tokens(8193), memory, Tokens(8192)});
  CHECK(decision.load);
  CHECK(decision.reason == Reason::load_is_faster);
  const std::int64_t p = decision.load_tokens.value;
  CHECK(decision.recompute_s == Approx(prefill_s(file, 0, 8193) - prefill_s(file, p, 8193 - p)));
  CHECK(decision.margin_s == Approx(decision.recompute_s - decision.load_s));
  CHECK_FALSE(decision.extrapolated);
  CHECK(decide(policy, {Tokens(80'001), memory, Tokens(80'000)}).extrapolated);
}

TEST_CASE("the threshold follows the verdict") {
  File file = plain();
  file.tiers.resize(6);
  const TierVerdict verdicts[] = {TierVerdict::at,           TierVerdict::always,
                                  TierVerdict::never,        TierVerdict::inconclusive,
                                  TierVerdict::inconclusive, TierVerdict::uncalibrated};
  for (std::size_t i = 0; i < 6; ++i) {
    file.tiers[i].name = {'t', static_cast<char>('0' + i)};
    file.tiers[i].verdict = verdicts[i];
  }
  file.tiers[1].tokens = 256;
  file.tiers[4].hi_tokens = 0;
  const Policy policy = make_policy(file);
  const auto loads = [&](const char* name, std::int64_t tokens) {
    return policy.should_load(policy.find_tier(name), Tokens(tokens));
  };
  CHECK(loads("t0", 512));
  CHECK_FALSE(loads("t0", 511));
  CHECK(loads("t1", 256));
  CHECK_FALSE(loads("t1", 255));
  CHECK_FALSE(loads("t2", 1'000'000));
  CHECK(loads("t3", 700));
  CHECK_FALSE(loads("t3", 699));
  CHECK_FALSE(loads("t4", 1'000'000));
  CHECK_FALSE(loads("t5", 1'000'000));
  CHECK_FALSE(loads("nobody", 1'000'000));
  CHECK_FALSE(policy.should_load(TierId(-7), Tokens(1'000'000)));
  CHECK_FALSE(policy.should_load(TierId(9999), Tokens(1'000'000)));
  CHECK_FALSE(policy.should_load(policy.find_tier("t0"), Tokens(-1)));
  CHECK(decide(policy, {Tokens(9001), policy.find_tier("t2"), Tokens(9000)}).reason ==
        Reason::tier_never_wins);
  CHECK(decide(policy, {Tokens(9001), policy.find_tier("t5"), Tokens(9000)}).reason ==
        Reason::tier_uncalibrated);
}

TEST_CASE("odd queries get a decision with a reason") {
  const Policy policy = make_policy(plain());
  const TierId memory = policy.find_tier("memory");
  const auto reason = [&](Query query) {
    const Decision decision = decide(policy, query);
    CHECK_FALSE(decision.load);
    CHECK(decision.load_tokens.value == 0);
    return decision.reason;
  };
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(decide(Policy(), {Tokens(9001), memory, Tokens(9000)}).reason == Reason::no_policy);
  CHECK(reason(Query()) == Reason::bad_query);
  CHECK(reason({Tokens(-5), memory, Tokens(9000)}) == Reason::bad_query);
  CHECK(reason({Tokens(most), memory, Tokens(9000)}) == Reason::bad_query);
  CHECK(reason({Tokens(9000), memory, Tokens(-1)}) == Reason::bad_query);
  CHECK(reason({Tokens(9000), memory, Tokens(0)}) == Reason::nothing_cached);
  CHECK(reason(Query(Tokens(9000))) == Reason::nothing_cached);
  CHECK(reason({Tokens(1), memory, Tokens(9000)}) == Reason::nothing_cached);
  CHECK(reason({Tokens(9000), TierId(), Tokens(8000)}) == Reason::unknown_tier);
  CHECK(reason({Tokens(9000), TierId(77), Tokens(8000)}) == Reason::unknown_tier);
  CHECK(reason({Tokens(9000), memory, Tokens(15)}) == Reason::shorter_than_block);
  Query query(Tokens(9000), memory, Tokens(8000));
  query.resident = Tokens(9000);
  CHECK(reason(query) == Reason::nothing_cached);
  query.resident = Tokens(-1);
  CHECK(reason(query) == Reason::bad_query);
  query.resident = Tokens(0);
  query.block = Tokens(most);
  CHECK(reason(query) == Reason::bad_query);
  query.block = Tokens(max_tokens);
  CHECK(reason(query) == Reason::shorter_than_block);
  query.block = Tokens(0);
  for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) {
    Query q = query;
    q.queue_wait = Seconds(bad);
    CHECK(reason(q) == Reason::bad_query);
    q = query;
    q.compute_price = bad;
    CHECK(reason(q) == Reason::bad_query);
    q = query;
    q.margin = bad;
    CHECK(reason(q) == Reason::bad_query);
    q = Query(Tokens(9000));
    q.add(memory, Tokens(8000), bad);
    CHECK(reason(q) == Reason::bad_query);
  }
  // More than the prompt: the last token is always computed.
  const Decision longer = decide(policy, {Tokens(9000), memory, Tokens(most)});
  CHECK(longer.load);
  CHECK(longer.load_tokens.value <= 8999);
  Query many(Tokens(9000));
  for (int i = 0; i < max_segments; ++i)
    CHECK(many.add(memory, Tokens(100 * (i + 1))));
  CHECK_FALSE(many.add(memory, Tokens(9000)));
  CHECK(decide(policy, many).load_tokens.value <= 1600);
}
