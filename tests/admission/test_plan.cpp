#include "support/catch.hpp"

#include "admission/sample.hpp"

using namespace breakeven;
using namespace sample;

TEST_CASE("a load delays the loads behind it in the same tier") {
  const Policy policy = make_policy(plain());
  const TierId memory = policy.find_tier("memory");
  std::vector<Query> queue(60, Query(Tokens(8200), memory, Tokens(8192)));
  std::vector<Decision> decisions(queue.size());
  plan(policy, queue.data(), queue.size(), decisions.data());
  const Decision alone = decide(policy, queue[0]);
  CHECK(decisions[0].load_s == alone.load_s);
  REQUIRE(decisions[1].load);
  CHECK(decisions[1].load_s == Approx(2 * alone.load_s).epsilon(0.1));
  // Sooner or later waiting for the tier costs more than computing does.
  CHECK(decisions[0].load);
  CHECK_FALSE(decisions.back().load);
  CHECK(decisions.back().reason == Reason::recompute_is_faster);
}

TEST_CASE("tiers do not delay each other, and one request alone is planned as decided") {
  File file = plain();
  file.tiers.push_back(file.tiers[0]);
  file.tiers[1].name = "other";
  const Policy policy = make_policy(file);
  const Query queue[] = {{Tokens(8200), TierId(0), Tokens(8192)},
                         {Tokens(8200), TierId(1), Tokens(8192)}};
  Decision decisions[2];
  plan(policy, queue, 2, decisions);
  CHECK(decisions[0].load_s == decisions[1].load_s);
  plan(policy, queue, 0, nullptr);
}

TEST_CASE("planning honours the exhaustive optimum of each request in turn") {
  std::mt19937_64 random(30);
  for (int i = 0; i < 200; ++i) {
    const File file = random_file(random, 0.1);
    const Policy policy = make_policy(file);
    std::vector<Query> queue;
    for (int k = 0; k < 8; ++k)
      queue.push_back(to_query(random_request(random, file, 3)));
    std::vector<Decision> decisions(queue.size());
    plan(policy, queue.data(), queue.size(), decisions.data());
    const Decision first = decide(policy, queue[0]);
    CHECK(first.load == decisions[0].load);
    CHECK(first.load_tokens == decisions[0].load_tokens);
    for (std::size_t k = 0; k < queue.size(); ++k) {
      // What others do can only make loading dearer.
      const Decision alone = decide(policy, queue[k]);
      if (decisions[k].load) {
        CHECK(alone.load);
        CHECK(decisions[k].margin_s <= alone.margin_s * (1 + 1e-9) + 1e-12);
      }
    }
  }
}

TEST_CASE("a prefix is stored when its expected saving exceeds the write") {
  File file = plain();
  file.tiers.push_back(file.tiers[0]);
  file.tiers[1].name = "unmeasured";
  file.tiers[1].store_Bps = 0;
  const Policy policy = make_policy(file);
  StoreQuery query;
  query.tier = policy.find_tier("memory");
  query.tokens = Tokens(8192);
  CHECK(should_store(policy, query).reason == StoreReason::write_exceeds_saving);
  query.expected_reuses = 10;
  const StoreDecision yes = should_store(policy, query);
  CHECK(yes.store);
  CHECK(yes.bytes == 8192.0 * 131072);
  CHECK(yes.write_s == Approx(yes.bytes / 5e9));
  query.tokens = Tokens(16);
  CHECK(should_store(policy, query).reason == StoreReason::load_never_pays);

  query.tokens = Tokens(8192);
  query.budget_bytes_per_day = 1e9;
  CHECK(should_store(policy, query).reason == StoreReason::write_budget_spent);
  query.budget_bytes_per_day = 1e13;
  query.expected_reuses = 1.1 * yes.write_s / (yes.saving_s / 10);
  CHECK(should_store(policy, query).store);
  query.written_bytes_today = 0.5e13; // half the budget is gone: twice the price
  CHECK(should_store(policy, query).reason == StoreReason::write_exceeds_saving);

  query.tier = policy.find_tier("unmeasured");
  CHECK(should_store(policy, query).reason == StoreReason::store_not_measured);
  query.tier = TierId(99);
  CHECK(should_store(policy, query).reason == StoreReason::unknown_tier);
  query.tokens = Tokens(-1);
  CHECK(should_store(policy, query).reason == StoreReason::bad_query);
  query.tokens = Tokens(1);
  query.expected_reuses = std::nan("");
  CHECK(should_store(policy, query).reason == StoreReason::bad_query);
  CHECK(should_store(Policy(), query).reason == StoreReason::no_policy);
}
