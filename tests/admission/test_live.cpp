#include "support/catch.hpp"

#include "admission/sample.hpp"
#include "breakeven/match.hpp"
#include "breakeven/observe.hpp"
#include "breakeven/reload.hpp"

#include <cstdlib>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace breakeven;
using namespace sample;
using Catch::Matchers::Contains;

namespace {
/// Two policies whose threshold and bandwidth only fit together when they are whole.
std::shared_ptr<const Policy> numbered(int number) {
  File file = plain();
  file.tiers[0].tokens = 1000 + number;
  file.tiers[0].bandwidth_Bps = {1e9 * (1 + number)};
  return std::make_shared<const Policy>(make_policy(file));
}
} // namespace

TEST_CASE("readers see whole policies while they are swapped, and old ones are freed") {
  const std::shared_ptr<const Policy> even = numbered(0), odd = numbered(1);
  std::weak_ptr<const Policy> first;
  LivePolicy live(even);
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0}, reads{0}, switched{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t)
    readers.emplace_back([&] {
      LivePolicy::Reader reader(live);
      std::int64_t last = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        const Policy& policy = reader.policy();
        const std::int64_t threshold = policy.threshold(TierId(0)).value;
        const double bandwidth = policy.cost(TierId(0)).bandwidth_Bps[0];
        if (bandwidth != 1e9 * static_cast<double>(threshold - 999)) ++torn;
        if (threshold != last) ++switched;
        last = threshold;
        ++reads;
      }
    });
  for (int i = 0; i < 1000; ++i) {
    // Some swaps bring a policy of their own, so that old ones really go away.
    auto next = i % 50 == 0 ? std::make_shared<const Policy>(*even) : i % 2 ? odd : even;
    if (i == 0) first = next;
    live.publish(std::move(next));
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  stop = true;
  for (std::thread& reader : readers)
    reader.join();
  CHECK(torn == 0);
  CHECK(reads > 1000);
  CHECK(switched > 6);
  live.publish(even);
  CHECK(first.expired());
  CHECK(live.snapshot() == even);
  live.publish(nullptr);
  CHECK(live.snapshot() == even);
}

TEST_CASE("a reader that sleeps keeps its policy and moves on when it wakes") {
  LivePolicy live(numbered(0));
  LivePolicy::Reader reader(live);
  const Policy* before = &reader.policy();
  std::weak_ptr<const Policy> old = live.snapshot();
  live.publish(numbered(1));
  CHECK_FALSE(old.expired());
  CHECK(live.retired_count() == 1);
  CHECK(before->threshold(TierId(0)).value == 1000);
  CHECK(reader.policy().threshold(TierId(0)).value == 1001);
  live.publish(numbered(0));
  CHECK(old.expired());
}

TEST_CASE("a file is reloaded when it is replaced, and a broken one keeps the old policy") {
  char path[] = "reload-XXXXXX";
  const int descriptor = mkstemp(path);
  REQUIRE(descriptor >= 0);
  close(descriptor);
  const auto replace = [&](const std::string& text) {
    const std::string fresh = std::string(path) + ".new";
    std::ofstream(fresh) << text;
    REQUIRE(std::rename(fresh.c_str(), path) == 0);
  };
  File file = plain();
  replace(to_json(file));
  PolicyReloader reloader(path);
  LivePolicy::Reader reader(reloader.live());
  std::string message;
  CHECK_FALSE(reloader.check(message));
  file.tiers[0].tokens = 777;
  replace(to_json(file));
  CHECK(reloader.check(message));
  CHECK(reader.policy().threshold(TierId(0)).value == 777);
  replace("{ broken");
  CHECK_FALSE(reloader.check(message));
  CHECK_THAT(message, Contains("not valid JSON"));
  CHECK_FALSE(reloader.check(message));
  CHECK(message.empty());
  CHECK(reader.policy().threshold(TierId(0)).value == 777);
  std::remove(path);
  CHECK_FALSE(reloader.check(message));
  CHECK_THAT(message, Contains("missing"));
  CHECK_THROWS_AS(PolicyReloader("/does/not/exist.json"), policy_file_error);
}

TEST_CASE("a file of another machine, model or engine is told apart by its key") {
  const PolicyFile file = parse_policy(to_json(plain()));
  CHECK(match(file.facts, {}).matches);
  Deployment here;
  here.fingerprint = "abc123";
  here.model = "llama-3.2-1b";
  here.kv_dtype = "bf16";
  here.tensor_parallel = 1;
  here.chunk_tokens = 2048;
  here.tiers = {"memory"};
  CHECK(match(file.facts, here).matches);
  const auto differs = [&](auto change) {
    Deployment other = here;
    change(other);
    const Match result = match(file.facts, other);
    CHECK_FALSE(result.matches);
    CHECK_THAT(result.message, Contains(result.key == "tiers" ? "tier" : result.key));
    return result.key;
  };
  CHECK(differs([](Deployment& d) { d.fingerprint = "x"; }) == "node.fingerprint");
  CHECK(differs([](Deployment& d) { d.device_name = "H200"; }) == "prefill.device_name");
  CHECK(differs([](Deployment& d) { d.model = "qwen3-8b"; }) == "model.name");
  CHECK(differs([](Deployment& d) { d.kv_dtype = "fp8"; }) == "model.kv_dtype");
  CHECK(differs([](Deployment& d) { d.tensor_parallel = 8; }) == "model.tensor_parallel");
  CHECK(differs([](Deployment& d) { d.chunk_tokens = 8192; }) == "model.chunk_tokens");
  CHECK(differs([](Deployment& d) { d.block_tokens = 32; }) == "model.block_tokens");
  CHECK(differs([](Deployment& d) { d.tiers = {"memory", "nvme"}; }) == "tiers");

  const auto source = [&](std::optional<Tokens> value, const PolicyFile* f, const Deployment& d) {
    return resolve_threshold(value, f, d, "memory", Tokens(384));
  };
  CHECK(source(Tokens(99), &file, here).tokens.value == 99);
  CHECK(source(std::nullopt, &file, here).tokens.value == 512);
  CHECK(source(std::nullopt, nullptr, here).tokens.value == 384);
  here.kv_dtype = "fp8";
  CHECK(source(std::nullopt, &file, here).tokens.value == 384);
  CHECK_THAT(source(std::nullopt, &file, here).message, Contains("model.kv_dtype"));
}

TEST_CASE("the observer follows a drift, shrugs off outliers and stays within its bounds") {
  const Policy policy = make_policy(plain());
  const TierId memory = policy.find_tier("memory");
  const auto run = [&](double drift, double outliers, int count) {
    auto observer = std::make_unique<Observer>(policy);
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> uniform(0, 1);
    const double predicted = 20e-6 + 64 * 1e-6 + 33554432 / 10e9;
    for (int i = 0; i < count; ++i) {
      const double wobble = 0.95 + 0.1 * uniform(random);
      const double factor = uniform(random) < outliers ? 1000 : drift * wobble;
      observer->load(memory, 33554432, 64, 1, Seconds(predicted * factor));
    }
    return observer;
  };
  CHECK(run(1.5, 0, 10)->load_factor(memory) == 1); // too few
  CHECK(run(1.5, 0, 500)->load_factor(memory) == Approx(1.5).epsilon(0.05));
  CHECK(run(0.7, 0, 500)->load_factor(memory) == Approx(0.7).epsilon(0.05));
  CHECK(run(1.0, 0.2, 2000)->load_factor(memory) == Approx(1.0).epsilon(0.08));
  CHECK(run(50, 0, 5000)->load_factor(memory) == Approx(2.0));
  CHECK(run(1 / 50.0, 0, 5000)->load_factor(memory) == Approx(0.5));
  CHECK_FALSE(run(1.0, 0, 500)->calibration_due());
  CHECK(run(1.5, 0, 500)->calibration_due());
  CHECK(run(1.5, 0, 500)->drifted(memory));
  CHECK_FALSE(run(1.5, 0, 500)->drifted(TierId()));
}

TEST_CASE("a corrected policy decides with the corrected times") {
  const Policy policy = make_policy(plain());
  const TierId memory = policy.find_tier("memory");
  auto observer = std::make_unique<Observer>(policy);
  auto corrected = std::make_unique<Policy>();
  observer->corrected(*corrected);
  CHECK(corrected->threshold(memory).value == policy.threshold(memory).value);
  for (int i = 0; i < 1000; ++i) {
    observer->prefill(Tokens(0), Tokens(4096), Seconds(0.8 * policy.curve().prefill_s(0, 4096)));
    observer->load(memory, 1e9, 0, 1, Seconds(1.2 * (20e-6 + 1e9 / 10e9)));
  }
  CHECK(observer->prefill_factor() == Approx(0.8).epsilon(0.02));
  observer->corrected(*corrected);
  const Query query(Tokens(8193), memory, Tokens(8192));
  const Decision before = decide(policy, query), after = decide(*corrected, query);
  CHECK(after.load_s / before.load_s == Approx(1.2).epsilon(0.05));
  CHECK(after.recompute_s / before.recompute_s == Approx(0.8).epsilon(0.05));
  // The threshold is the one that the corrected curves imply.
  const std::int64_t tokens = corrected->threshold(memory).value;
  CHECK(tokens > 0);
  CHECK(corrected->verdict(memory) == TierVerdict::at);
  // Nonsense is not learned from.
  observer->load(memory, -1e30, 0, 1, Seconds(1));
  observer->load(memory, 1e9, 0, std::nan(""), Seconds(1));
  observer->load(TierId(55), 1e9, 0, 1, Seconds(1));
  observer->prefill(Tokens(-1), Tokens(4), Seconds(1));
  observer->prefill(Tokens(0), Tokens(4), Seconds(std::nan("")));
  CHECK(observer->load_count(memory) == 1000);
  CHECK(observer->prefill_count() == 1000);
}

TEST_CASE("many threads may feed an observer at once") {
  const Policy policy = make_policy(plain());
  auto observer = std::make_unique<Observer>(policy);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i)
        observer->load(TierId(0), 1e9, 0, 1, Seconds(1.4 * (20e-6 + 1e9 / 10e9)));
    });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(observer->load_count(TierId(0)) == 20000);
  CHECK(observer->load_factor(TierId(0)) == Approx(1.4).epsilon(0.01));
}
