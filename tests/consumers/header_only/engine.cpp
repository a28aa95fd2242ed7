// Everything that admission.hpp offers, in a program without exceptions and RTTI.
#include <breakeven/admission.hpp>
#include <breakeven/observe.hpp>
#include <breakeven/policy_builder.hpp>

using namespace breakeven;

static Policy policy;

int main() {
  const double fresh[] = {1, 512, 2048}, dense[] = {0.001, 0.01, 0.04};
  PolicyBuilder builder(policy);
  KvSize kv;
  kv.bytes_per_token = 1000;
  TierCost cost;
  cost.points = 1;
  cost.in_flight[0] = 1;
  cost.bandwidth_Bps[0] = 1e9;
  const bool built = builder.set_model(kv, 2048, 16, 0) == nullptr &&
                     builder.set_dense(fresh, dense, 3) == nullptr &&
                     builder.add_tier("memory", TierVerdict::at, 100, cost) == nullptr &&
                     builder.finish() == nullptr;
  static_assert(noexcept(policy.should_load(TierId(0), Tokens(1))), "");
  static_assert(noexcept(decide(policy, Query())), "");
  static_assert(noexcept(plan(policy, nullptr, 0, nullptr)), "");
  static_assert(noexcept(should_store(policy, StoreQuery())), "");
  const TierId tier = policy.find_tier("memory");
  Query queue[2] = {{Tokens(1000), tier, Tokens(900)}, {Tokens(5000), tier, Tokens(4000)}};
  queue[1].add(tier, Tokens(4500), 2);
  Decision decisions[2];
  plan(policy, queue, 2, decisions);
  Observer observer(policy);
  observer.load(tier, 1e6, 1, 1, Seconds(0.001));
  const bool right = built && decisions[0].load && decide(policy, queue[1]).load &&
                     policy.should_load(tier, Tokens(100)) && !observer.calibration_due() &&
                     !should_store(policy, StoreQuery()).store;
  return right ? 0 : 1;
}
