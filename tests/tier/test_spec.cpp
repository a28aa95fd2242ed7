#include "support/catch.hpp"

#include "support/error.hpp"
#include "tier/tier.hpp"

using namespace breakeven;
using namespace breakeven::tier;
using Catch::Matchers::Contains;

TEST_CASE("a spec is a kind, targets and keys") {
  const TierSpec plain = parse_tier_spec("memory");
  CHECK(plain.kind == "memory");
  CHECK(plain.target.empty());
  CHECK(plain.keys.empty());

  const TierSpec keyed = parse_tier_spec("memory:node=0");
  CHECK(keyed.text == "memory:node=0");
  CHECK(keyed.keys.at("node") == "0");
}

TEST_CASE("a spec that cannot be is refused with the reason") {
  CHECK_THROWS_WITH(parse_tier_spec("memroy"), Contains("did you mean 'memory'"));
  CHECK_THROWS_WITH(parse_tier_spec(""), Contains("known: memory"));
  CHECK_THROWS_WITH(parse_tier_spec("memory:nod=1"), Contains("did you mean 'node'"));
  CHECK_THROWS_WITH(parse_tier_spec("memory:node="), Contains("has no value"));
  CHECK_THROWS_WITH(parse_tier_spec("memory:node=1,node=1"), Contains("twice"));
  CHECK_THROWS_WITH(parse_tier_spec("memory:node=-1"), Contains("whole number"));
  CHECK_THROWS_WITH(parse_tier_spec("memory:node=99999999999999999999"), Contains("whole number"));
  CHECK_THROWS_WITH(parse_tier_spec("memory:node=99999999999"), Contains("no such NUMA node"));
  CHECK_THROWS_WITH(parse_tier_spec("memory:/tmp"), Contains("takes no target"));
  CHECK_THROWS_WITH(parse_tier_spec("memory:node=0,,"), Contains("between two commas"));
  try {
    parse_tier_spec("nope");
    FAIL("accepted");
  } catch (const error& refusal) {
    CHECK(refusal.kind() == error_kind::usage);
  }
}

TEST_CASE("every kind describes itself") {
  REQUIRE_FALSE(tier_kinds().rows().empty());
  for (const auto& [name, kind] : tier_kinds().rows()) {
    CAPTURE(name);
    CHECK_FALSE(kind.summary.empty());
    CHECK(kind.unavailable_reason);
    CHECK(kind.scratch_bytes);
    CHECK(kind.create);
    for (const auto& [key, meaning] : kind.keys)
      CHECK_FALSE(meaning.empty());
  }
}
