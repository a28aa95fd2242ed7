#include "support/catch.hpp"
#include "support/sample_file.hpp"

#include "verify/points.hpp"
#include "verify/setup.hpp"

#include "support/error.hpp"

#include <algorithm>
#include <set>

using namespace breakeven;
using namespace breakeven::verify;
using Catch::Matchers::Contains;

namespace {

std::vector<std::int64_t> lengths(const Selection& selection, bool whole) {
  std::vector<std::int64_t> tokens;
  for (const Question& q : selection.questions)
    if (q.whole() == whole) tokens.push_back(q.cached);
  return tokens;
}

} // namespace

TEST_CASE("a break-even length is tried just below, at and above, outside of its interval") {
  const profile::BreakEvenFile file = test::sample_file();
  const Selection all = all_questions(file, {0});
  REQUIRE(lengths(all, true).size() == 3);
  for (const Question& q : all.questions) {
    if (q.place == Place::below) CHECK(q.cached < 100);
    if (q.place == Place::at) CHECK(q.cached == 112);
    if (q.place == Place::above) CHECK(q.cached > 125);
    CHECK(q.cached % file.model.block_tokens == 0);
  }
  // 10, 50 and 90 % of 8k; 32k lies beyond what was calibrated.
  CHECK(lengths(all, false).size() == 3);
  REQUIRE(all.left_out.size() == 1);
  CHECK_THAT(all.left_out[0], Contains("32,768"));
}

TEST_CASE("always and never are tried at the shortest, the longest and one length between") {
  profile::BreakEvenFile file = test::sample_file();
  file.tiers[0].break_even = {profile::Verdict::always, "", 64, 64, 64, 0.95};
  std::vector<std::int64_t> tokens = lengths(all_questions(file, {0}), true);
  std::sort(tokens.begin(), tokens.end());
  CHECK(tokens == std::vector<std::int64_t>{64, 1024, 16384});
}

TEST_CASE("hybrid models are tried where a recurrent state is kept") {
  profile::BreakEvenFile file = test::sample_file();
  file.model.checkpoint_tokens = 256;
  for (const Question& q : all_questions(file, {0}).questions)
    CHECK(q.cached % 256 == 0);
}

TEST_CASE("what does not fit into the budget is left out, and said") {
  profile::BreakEvenFile file = test::sample_file();
  file.tiers[0].break_even = {profile::Verdict::always, "", 64, 64, 64, 0.95};
  const Forecast forecast(file);
  const CostModel cost{forecast, file};
  const Selection all = all_questions(file, {0});
  const auto price = [&](const Selection& selection) {
    double sum = 0;
    std::set<std::int64_t> prompts; // recomputed once each
    for (const Question& q : selection.questions)
      sum += cost.hit_s(q) + (prompts.insert(q.prompt).second ? cost.prefill_s(0, q.prompt) : 0);
    return sum;
  };
  std::size_t before = 0;
  for (const double seconds : {5.0, 20.0, 80.0, 1000.0}) {
    const Selection some = within(all, cost, seconds, 3);
    CHECK(3 * price(some) <= seconds * 1.001);
    CHECK(some.questions.size() >= before);
    before = some.questions.size();
  }
  CHECK(before == all.questions.size());
  const Selection one = within(all, cost, 1e-6, 3);
  REQUIRE(one.questions.size() == 1); // something of each tier, whatever it costs
  CHECK(one.questions[0].cached == 64);
  CHECK(one.spare.size() + 1 == all.questions.size());
}

TEST_CASE("tiers are named as the file names them, elsewhere on request") {
  profile::BreakEvenFile file = test::sample_file();
  file.tiers[0].name = file.tiers[0].spec = "file:/kv,o_direct=off";
  file.tiers[0].kind = "file";
  Request request;
  CHECK(choose_tiers(file, request).at(0).spec == "file:/kv,o_direct=off");
  request.tiers = {"file:/kv,o_direct=off=memory"};
  CHECK(choose_tiers(file, request).at(0).spec == "memory");
  CHECK(choose_tiers(file, request).at(0).requested);
  request.tiers = {"file:/kv"};
  CHECK_THROWS_AS(choose_tiers(file, request), error);
  request.tiers = {"file:/kv,o_direct=off", "file:/kv,o_direct=off=memory"};
  CHECK_THROWS_AS(choose_tiers(file, request), error);
}

TEST_CASE("a predicted file's tiers are tried where this machine has them") {
  profile::BreakEvenFile file = test::sample_file();
  file.status = "predicted";
  file.tiers[0].name = file.tiers[0].kind = "memory";
  file.tiers[0].spec = "memory=50GB/s";
  profile::Tier ssd = file.tiers[0];
  ssd.name = ssd.kind = "ssd";
  ssd.spec = "ssd=6GB/s";
  file.tiers.push_back(ssd);
  const std::vector<TierChoice> choices = choose_tiers(file, {});
  CHECK(choices.at(0).spec == "memory");
  CHECK(choices.at(1).spec.empty());
  CHECK_THAT(choices.at(1).reason, Contains("--tier ssd="));
}

TEST_CASE("what differs between the file's node and this one is named") {
  const profile::BreakEvenFile file = test::sample_file();
  node::NodeFacts here;
  here.fingerprint = file.node.fingerprint;
  here.usable_cpus = 2;
  here.numa_nodes = 1;
  CHECK(node_differences(file, here, "Test CPU").empty());
  here.fingerprint = "fedcba9876543210";
  here.kernel = "6.9.0";
  const std::vector<std::string> all = node_differences(file, here, "Other CPU");
  REQUIRE(all.size() == 3);
  CHECK_THAT(all[0], Contains("node.fingerprint"));
  CHECK_THAT(all[1], Contains("Other CPU"));
  CHECK_THAT(all[2], Contains("6.9.0"));
}

TEST_CASE("a model that is not the file's is refused") {
  profile::BreakEvenFile file = test::sample_file();
  CHECK_THROWS_AS(find_model(file, ""), error); // "toy" is nowhere
  CHECK_THROWS_AS(find_model(file, "llama-3.2-1b"), error);
  file.model.name = "llama-3.2-1b";
  file.model.layer_kinds = {{"full", 16}};
  file.model.kv_bytes_per_token = 32768;
  CHECK(find_model(file, "").layers == 16);
  file.model.overrides = {"kv_dtype=fp8 (--kv-dtype)"};
  file.model.kv_bytes_per_token = 16384;
  CHECK(find_model(file, "").kv_bytes_per_token_override == 0);
}
