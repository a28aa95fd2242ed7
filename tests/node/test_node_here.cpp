#include "support/catch.hpp"

#include "node/node.hpp"

#include <sched.h>

using namespace breakeven;

TEST_CASE("this machine is described without contradiction") {
  const node::NodeFacts facts = node::inspect();
  CHECK(facts.usable_cpus >= 1);
  CHECK(facts.logical_cpus >= facts.usable_cpus);
  CHECK(facts.numa_nodes >= 1);
  CHECK(facts.memory_bytes > 0);
  CHECK(facts.memory_available_bytes > 0);
  CHECK(facts.memory_available_bytes <= facts.memory_bytes);
  CHECK_FALSE(facts.kernel.empty());
  CHECK(facts.fingerprint.size() == 16);
  cpu_set_t mask;
  REQUIRE(sched_getaffinity(0, sizeof mask, &mask) == 0);
  CHECK(facts.usable_cpus <= CPU_COUNT(&mask));
}

TEST_CASE("the fingerprint does not change between two looks") {
  CHECK(node::inspect().fingerprint == node::inspect().fingerprint);
}
