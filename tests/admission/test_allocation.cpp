#include "support/catch.hpp"

#include "admission/sample.hpp"
#include "breakeven/live_policy.hpp"
#include "breakeven/observe.hpp"

#include <cstdlib>
#include <new>

namespace {
thread_local long allocations = 0;
}

// Counts what goes through operator new, in this executable as a whole. malloc is not used by the
// headers, which include nothing that could.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

using namespace breakeven;
using namespace sample;

TEST_CASE("deciding allocates nothing") {
  std::mt19937_64 random(60);
  for (int i = 0; i < 300; ++i) {
    const File file = random_file(random, 0.1);
    LivePolicy live(std::make_shared<const Policy>(make_policy(file)));
    LivePolicy::Reader reader(live);
    auto observer = std::make_unique<Observer>(*live.snapshot());
    auto corrected = std::make_unique<Policy>();
    const Query queue[2] = {to_query(random_request(random, file, 1)),
                            to_query(random_request(random, file, 4))};
    Decision decisions[2];
    const long before = allocations;
    const Policy& policy = reader.policy();
    const bool threshold = policy.should_load(policy.find_tier("0"), Tokens(600));
    decisions[0] = decide(policy, queue[0]);
    plan(policy, queue, 2, decisions);
    StoreQuery store;
    store.tokens = Tokens(1000);
    store.tier = TierId(0);
    const StoreDecision stored = should_store(policy, store);
    observer->load(TierId(0), 1e9, 1, 1, Seconds(0.1));
    observer->corrected(*corrected);
    const long after = allocations;
    REQUIRE(after == before);
    CHECK(threshold);
    CHECK_FALSE(stored.store);
  }
  CHECK(allocations > 0); // the counter counts
}
