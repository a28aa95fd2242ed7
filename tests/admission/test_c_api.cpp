#include "support/catch.hpp"

#include "admission/sample.hpp"
#include "breakeven/breakeven.h"

using namespace sample;
using Catch::Matchers::Contains;

TEST_CASE("the C interface answers what the C++ one does") {
  std::mt19937_64 random(40);
  for (int i = 0; i < 50; ++i) {
    const File file = random_file(random, 0.1);
    const std::string text = to_json(file);
    const auto direct = breakeven::parse_policy(text);
    breakeven_policy* policy = breakeven_policy_parse(text.data(), text.size(), nullptr, 0);
    REQUIRE(policy != nullptr);
    CHECK(breakeven_tier_count(policy) == 5);
    CHECK(breakeven_find_tier(policy, file.tiers[3].name.c_str()) == 3);
    CHECK(std::string(breakeven_tier_name(policy, 3)) == file.tiers[3].name);
    CHECK(breakeven_should_load(policy, 0, 512) == 1);
    CHECK(breakeven_should_load(policy, 0, 511) == 0);
    std::vector<breakeven_query> queue;
    std::vector<std::vector<breakeven_segment>> segments(8);
    std::vector<breakeven::Query> same;
    for (std::size_t k = 0; k < segments.size(); ++k) {
      const Request request = random_request(random, file, 4);
      for (const Part& part : request.parts)
        segments[k].push_back({part.tier, part.end, part.in_flight});
      queue.push_back({request.prompt, request.resident, request.block, request.queue_wait_s,
                       request.compute_price, request.margin, segments[k].data(),
                       segments[k].size()});
      same.push_back(to_query(request));
      const breakeven_decision decision = breakeven_decide(policy, &queue[k]);
      const breakeven::Decision expected = decide(*direct.policy, same[k]);
      CHECK(decision.load == expected.load);
      CHECK(decision.load_tokens == expected.load_tokens.value);
      CHECK(decision.margin_s == expected.margin_s);
      CHECK(std::string(decision.reason) == to_string(expected.reason));
    }
    std::vector<breakeven_decision> planned(queue.size());
    std::vector<breakeven::Decision> expected(queue.size());
    breakeven_plan(policy, queue.data(), queue.size(), planned.data());
    plan(*direct.policy, same.data(), same.size(), expected.data());
    for (std::size_t k = 0; k < queue.size(); ++k)
      CHECK(planned[k].load_tokens == expected[k].load_tokens.value);
    breakeven_policy_free(policy);
  }
}

TEST_CASE("the C interface survives what it is not given") {
  CHECK(breakeven_should_load(nullptr, 0, 100) == 0);
  CHECK(breakeven_decide(nullptr, nullptr).load == 0);
  const breakeven_query empty{};
  CHECK(breakeven_decide(nullptr, &empty).load == 0);
  CHECK(breakeven_find_tier(nullptr, nullptr) == -1);
  CHECK(std::string(breakeven_tier_name(nullptr, 7)).empty());
  CHECK(std::string(breakeven_policy_model(nullptr)).empty());
  CHECK(breakeven_should_store(nullptr, nullptr).store == 0);
  CHECK(breakeven_observer_create(nullptr, 2) == nullptr);
  CHECK(breakeven_observer_factor(nullptr, 0) == 1);
  CHECK(breakeven_policy_corrected(nullptr) == nullptr);
  breakeven_plan(nullptr, nullptr, 3, nullptr);
  breakeven_policy_free(nullptr);
  breakeven_observer_free(nullptr);
  char message[24];
  CHECK(breakeven_policy_load("/does/not/exist", message, sizeof message) == nullptr);
  CHECK(std::string(message) == std::string("cannot read the break-even file").substr(0, 23));
  CHECK(breakeven_policy_load(nullptr, nullptr, 0) == nullptr);
  CHECK(breakeven_policy_parse("{", 1, message, 1) == nullptr);
  CHECK(message[0] == '\0');
}

TEST_CASE("the C interface observes and corrects") {
  const std::string text = to_json(plain());
  breakeven_policy* policy = breakeven_policy_parse(text.data(), text.size(), nullptr, 0);
  REQUIRE(policy != nullptr);
  breakeven_observer* observer = breakeven_observer_create(policy, 0);
  CHECK(std::string(breakeven_policy_kv_dtype(policy)) == "bf16");
  CHECK(breakeven_policy_chunk_tokens(policy) == 2048);
  breakeven_policy_free(policy); // the observer keeps what it needs
  for (int i = 0; i < 500; ++i) {
    breakeven_observe_load(observer, 0, 1e9, 0, 1, 1.5 * (20e-6 + 1e9 / 10e9));
    breakeven_observe_prefill(observer, 0, 100, 1e-9);
  }
  CHECK(breakeven_observer_factor(observer, 0) == Approx(1.5).epsilon(0.05));
  CHECK(breakeven_observer_factor(observer, -1) == Approx(0.5));
  CHECK(breakeven_observer_calibration_due(observer) == 1);
  breakeven_policy* corrected = breakeven_policy_corrected(observer);
  REQUIRE(corrected != nullptr);
  CHECK(std::string(breakeven_policy_model(corrected)) == "llama-3.2-1b");
  breakeven_policy_free(corrected);
  breakeven_observer_free(observer);
}

TEST_CASE("the loaded library is the one that was compiled against") {
  CHECK(breakeven_abi_version() == BREAKEVEN_ABI_VERSION);
  CHECK_FALSE(std::string(breakeven_version()).empty());
}
