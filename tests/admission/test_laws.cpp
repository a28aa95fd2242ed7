#include "support/catch.hpp"

#include "admission/sample.hpp"

#include <cstring>

using namespace breakeven;
using namespace sample;

// Laws that hold for every valid policy and query, each tested on thousands of random ones; and the
// laws that one might expect and that do not hold, each with its counterexample.

namespace {

/// Calls check(file, request, random) for random files and requests.
template <class Check>
void for_random(unsigned seed, int rounds, Check check) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < rounds; ++i) {
    const File file = random_file(random, i % 2 ? 0.2 : 0.0);
    const Request request = random_request(random, file, 1 + i % 4);
    INFO("round " << i);
    check(file, request, random);
  }
}

Decision ask(const File& file, const Request& request) {
  return decide(make_policy(file), to_query(request));
}

/// What is gained over computing everything: 0 when not loading.
double gain(const Decision& decision) {
  return decision.load ? decision.margin_s : 0;
}
bool no_less(double a, double b) {
  return a >= b - 1e-9 * std::abs(b) - 1e-12;
}

} // namespace

TEST_CASE("law: a load that costs nothing wins wherever computing costs something") {
  for_random(50, 2000, [](File file, Request request, auto&) {
    file.kv_bytes_per_token = 0;
    file.state_bytes = 0;
    file.windows.clear();
    for (TierData& tier : file.tiers)
      tier.fixed_s = tier.piece_s = 0;
    request.margin = 0;
    const Decision decision = ask(file, request);
    if (decision.reason == Reason::recompute_is_faster) REQUIRE(decision.recompute_s <= 1e-12);
  });
}

TEST_CASE("law: a tier that never wins is never loaded from") {
  for_random(51, 2000, [](File file, Request request, auto& random) {
    const std::size_t banned = random() % 5;
    file.tiers[banned].verdict = random() % 2 ? TierVerdict::never : TierVerdict::uncalibrated;
    request.queue_wait_s = 1e6;
    const Decision decision = ask(file, request);
    std::int64_t reachable = 0;
    for (const Part& part : request.parts) {
      if (std::min(part.end, request.prompt - 1) <= std::max(reachable, request.resident)) continue;
      if (part.tier == static_cast<int>(banned)) break;
      reachable = part.end;
    }
    REQUIRE(decision.load_tokens.value <= reachable);
  });
}

TEST_CASE("law: more bandwidth or less fixed cost never turns load into recompute") {
  for_random(52, 3000, [](const File& file, const Request& request, auto& random) {
    File better = file;
    for (TierData& tier : better.tiers) {
      tier.fixed_s *= 0.5;
      tier.piece_s *= 0.9;
      if (random() % 2)
        for (double& bandwidth : tier.bandwidth_Bps)
          bandwidth *= 3;
    }
    REQUIRE(no_less(gain(ask(better, request)), gain(ask(file, request))));
  });
}

TEST_CASE("law: waiting longer, or a dearer device, never turns load into recompute") {
  for_random(53, 3000, [](const File& file, Request request, auto&) {
    const double before = gain(ask(file, request));
    Request patient = request;
    patient.queue_wait_s += 0.01;
    REQUIRE(no_less(gain(ask(file, patient)), before));
    request.compute_price += 1;
    REQUIRE(no_less(gain(ask(file, request)), before));
  });
}

TEST_CASE("law: asking for a margin never turns recompute into load") {
  for_random(54, 3000, [](const File& file, Request request, auto&) {
    request.margin = 0;
    const double before = gain(ask(file, request));
    request.margin = 0.3;
    REQUIRE(no_less(before, gain(ask(file, request))));
  });
}

TEST_CASE("law: a longer hit, or smaller blocks, never lose anything") {
  for_random(55, 3000, [](const File& file, Request request, auto&) {
    if (request.block == 0) request.block = file.block;
    const double before = gain(ask(file, request));
    Request longer = request;
    longer.parts.push_back({static_cast<int>(request.parts.size()) % 5, request.prompt, 1});
    REQUIRE(no_less(gain(ask(file, longer)), before));
    if (request.block % 2 == 0 && file.checkpoint == 0) {
      request.block /= 2;
      REQUIRE(no_less(gain(ask(file, request)), before));
    }
  });
}

TEST_CASE("law: more loads in flight never turn recompute into load") {
  for_random(56, 2000, [](const File& file, Request request, auto&) {
    const double before = gain(ask(file, request));
    for (Part& part : request.parts)
      part.in_flight = part.in_flight * 2 + 1;
    REQUIRE(no_less(before, gain(ask(file, request))));
  });
}

TEST_CASE("law: the answer depends on nothing but policy and query") {
  for_random(57, 300, [](const File& file, const Request& request, auto&) {
    const Policy one = make_policy(file), two = make_policy(file);
    Query query = to_query(request);
    const Decision a = decide(one, query), b = decide(two, to_query(request));
    REQUIRE(std::memcmp(&a.load_s, &b.load_s, sizeof(double)) == 0);
    REQUIRE(std::memcmp(&a.margin_s, &b.margin_s, sizeof(double)) == 0);
    REQUIRE(a.load_tokens == b.load_tokens);
  });
}

TEST_CASE("law: where computing is proportional to tokens, more resident never favours loading") {
  for_random(58, 2000, [](File file, Request request, auto& random) {
    file.grids.clear();
    file.dense_new = {1, file.chunk};
    file.dense = {1e-5, 1e-5 * static_cast<double>(file.chunk)};
    file.windows.clear();
    for (TierData& tier : file.tiers)
      tier.piece_s = 0;
    request.parts.resize(1);
    request.resident = 0;
    request.queue_wait_s = 0;
    const double before = gain(ask(file, request));
    request.resident =
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(request.prompt));
    REQUIRE(no_less(before, gain(ask(file, request))));
  });
}

TEST_CASE("not a law: more resident can favour loading, because later tokens attend to more") {
  // Early tokens are computed faster than they are loaded, late ones slower. From an empty device
  // the cheap part has to be loaded as well; with the cheap part resident, loading the rest wins.
  File file = plain();
  file.dense = {1e-6, 64e-6, 256e-6, 1024e-6, 2048e-6}; // no floor: 1 us a token
  file.tiers[0].piece_s = file.tiers[0].fixed_s = 0;
  file.tiers[0].bandwidth_Bps = {131072 / 40e-6}; // 40 us a token; computing: 1 us + 2 ns * context
  Request request;
  request.prompt = 32769;
  request.parts = {{0, 32768, 1}};
  CHECK_FALSE(ask(file, request).load);
  request.resident = 24576;
  CHECK(ask(file, request).load);
}

TEST_CASE("not a law: one token more in the prompt can turn recompute into load") {
  // It begins another step, whose weights stream for 5 ms whatever it computes.
  File file = plain();
  file.tiers[0].fixed_s = 1e-3;
  file.tiers[0].bandwidth_Bps = {131072 / 100e-6}; // dear: 100 us a token
  Request request;
  request.prompt = 2048;
  request.parts = {{0, 1024, 1}};
  CHECK_FALSE(ask(file, request).load);
  request.prompt = 2049;
  const Decision decision = ask(file, request);
  CHECK(decision.load);
  CHECK(decision.load_tokens.value == 16); // one block avoids the step; more would cost more
}

TEST_CASE("not a law: a load of zero bytes can lose, because a call costs its fixed time") {
  File file = plain();
  file.kv_bytes_per_token = 0;
  file.tiers[0].fixed_s = 1;
  Request request;
  request.prompt = 1000;
  request.parts = {{0, 900, 1}};
  CHECK_FALSE(ask(file, request).load);
}
