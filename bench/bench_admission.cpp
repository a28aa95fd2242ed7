// Cost of each call of the admission library, over 1,024 different queries so that the branch
// predictor sees a real mix. BM_empty_call is the floor that the others are multiples of.
#include "breakeven/admission.hpp"
#include "breakeven/live_policy.hpp"
#include "breakeven/policy_builder.hpp"

#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace breakeven;

namespace {

constexpr int queries = 1024;

/// A server with a floor of 5 ms a step, 32 us a token, attention by pairs; four tiers.
Policy make_policy() {
  Policy policy;
  PolicyBuilder builder(policy);
  KvSize kv;
  kv.bytes_per_token = 131072;
  bool ok = builder.set_model(kv, 2048, 16, 0) == nullptr;
  const double fresh[] = {1, 16, 64, 128, 256, 512, 1024, 2048};
  double dense[8], attention[8 * 8];
  for (int i = 0; i < 8; ++i)
    dense[i] = fresh[i] < 160 ? 5e-3 : 32e-6 * fresh[i];
  const double contexts[] = {0, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
  for (int q = 0; q < 8; ++q)
    for (int i = 0; i < 8; ++i)
      attention[q * 8 + i] = 2e-9 * fresh[i] * (contexts[q] + 0.5 * fresh[i]) + 1e-5;
  ok = ok && builder.set_dense(fresh, dense, 8) == nullptr;
  ok = ok && builder.add_attention(contexts, 8, fresh, 8, attention) == nullptr;
  const double bandwidths[] = {50e9, 20e9, 8e9, 5e9};
  const char* names[] = {"memory", "nvme", "raid", "remote"};
  for (int i = 0; i < 4; ++i) {
    TierCost cost;
    cost.fixed_s = 20e-6 * (i + 1);
    cost.piece_s = 1e-6;
    cost.chunk_tokens = 256;
    cost.pieces_per_chunk = 64;
    cost.points = 2;
    cost.in_flight[0] = 1;
    cost.in_flight[1] = 8;
    cost.bandwidth_Bps[0] = bandwidths[i];
    cost.bandwidth_Bps[1] = bandwidths[i] / 4;
    ok = ok && builder.add_tier(names[i], TierVerdict::at, 512 * (i + 1), cost) == nullptr;
  }
  builder.set_longest_calibrated(65536);
  if (!ok || builder.finish() != nullptr) std::abort();
  return policy;
}

const Policy& policy() {
  static const Policy made = make_policy();
  return made;
}

/// `suffix`: largest number of prompt tokens beyond the hit.
std::vector<Query> make_queries(int segments, std::int64_t suffix) {
  std::mt19937_64 random(7);
  std::vector<Query> result;
  for (int i = 0; i < queries; ++i) {
    const auto cached = static_cast<std::int64_t>(1024 + random() % 30000) / 256 * 256;
    const auto more = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(suffix));
    Query query(Tokens(cached + more));
    for (int s = 0; s < segments; ++s)
      query.add(TierId(segments == 1 ? i % 4 : s), Tokens(cached * (s + 1) / segments));
    result.push_back(query);
  }
  return result;
}

__attribute__((noinline)) bool empty_call(int tier, std::int64_t cached) {
  benchmark::DoNotOptimize(tier);
  benchmark::DoNotOptimize(cached);
  return false;
}

void BM_empty_call(benchmark::State& state) {
  std::int64_t cached = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(empty_call(0, ++cached));
}

void BM_should_load(benchmark::State& state) {
  const Policy& p = policy();
  const TierId tier = p.find_tier("nvme");
  std::int64_t cached = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(cached = (cached + 257) & 0xffff);
    benchmark::DoNotOptimize(p.should_load(tier, Tokens(cached)));
  }
}

void decide_each(benchmark::State& state, const std::vector<Query>& list) {
  const Policy& p = policy();
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(decide(p, list[i]));
    i = (i + 1) % queries;
  }
}

void BM_decide_1_segment(benchmark::State& state) {
  decide_each(state, make_queries(1, 4000));
}
void BM_decide_1_segment_full_hit(benchmark::State& state) {
  decide_each(state, make_queries(1, 1));
}
void BM_decide_4_segments(benchmark::State& state) {
  decide_each(state, make_queries(4, 4000));
}
void BM_decide_4_segments_full_hit(benchmark::State& state) {
  decide_each(state, make_queries(4, 1));
}
void BM_decide_1_segment_queue_wait(benchmark::State& state) {
  std::vector<Query> list = make_queries(1, 4000);
  for (Query& query : list)
    query.queue_wait = Seconds(0.05);
  decide_each(state, list);
}
/// Readers of one live policy, which nobody (or somebody 1,000 times a second) replaces.
void read_live(benchmark::State& state, bool swapped) {
  static LivePolicy live(std::make_shared<const Policy>(policy()));
  static std::atomic<bool> stop;
  std::thread writer;
  if (swapped && state.thread_index() == 0) {
    stop = false;
    writer = std::thread([] {
      const auto one = std::make_shared<const Policy>(policy()), two = live.snapshot();
      for (int i = 0; !stop; ++i) {
        live.publish(i % 2 ? one : two);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  LivePolicy::Reader reader(live);
  const TierId tier = policy().find_tier("nvme");
  std::int64_t cached = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(cached = (cached + 257) & 0xffff);
    benchmark::DoNotOptimize(reader.policy().should_load(tier, Tokens(cached)));
  }
  stop = true;
  if (writer.joinable()) writer.join();
}
void BM_should_load_live(benchmark::State& state) {
  read_live(state, false);
}
void BM_should_load_live_swapped(benchmark::State& state) {
  read_live(state, true);
}
void BM_plan_100(benchmark::State& state) {
  const std::vector<Query> list = make_queries(1, 4000);
  Decision decisions[100];
  for (auto _ : state) {
    plan(policy(), list.data(), 100, decisions);
    benchmark::DoNotOptimize(decisions);
  }
}
void BM_policy_copy(benchmark::State& state) {
  const Policy& p = policy();
  auto copy = std::make_unique<Policy>();
  for (auto _ : state) {
    *copy = p;
    benchmark::DoNotOptimize(*copy);
  }
}

BENCHMARK(BM_empty_call);
BENCHMARK(BM_should_load)->ThreadRange(1, 2);
BENCHMARK(BM_decide_1_segment)->ThreadRange(1, 2);
BENCHMARK(BM_decide_1_segment_full_hit);
BENCHMARK(BM_decide_1_segment_queue_wait);
BENCHMARK(BM_decide_4_segments)->ThreadRange(1, 2);
BENCHMARK(BM_decide_4_segments_full_hit);
BENCHMARK(BM_should_load_live)->ThreadRange(1, 2);
BENCHMARK(BM_should_load_live_swapped)->ThreadRange(1, 2);
BENCHMARK(BM_plan_100);
BENCHMARK(BM_policy_copy);

} // namespace

BENCHMARK_MAIN();
