#include "support/catch.hpp"

#include "host_buffer.hpp"
#include "support/error.hpp"
#include "tier/tier.hpp"

using namespace breakeven;
using namespace breakeven::tier;
using Catch::Matchers::Contains;

namespace {

TierOptions options(std::uint64_t max_load_bytes, int threads = 2) {
  TierOptions result;
  result.layout = {"test", 1024, 64, 16, 1};
  result.max_load_bytes = max_load_bytes;
  result.threads = threads;
  return result;
}

} // namespace

TEST_CASE("loads from memory arrive, whatever their shape") {
  const bool visible = GENERATE(true, false);
  HostBuffer device(8 * mib, visible);
  const auto tier = create(parse_tier_spec("memory"), options(8 * mib), device);
  tier->prepare();
  CHECK(tier->disqualified().empty());
  CHECK(tier->scratch_bytes() >= 64 * mib);
  CHECK(tier->store_Bps() > 0);
  CHECK(tier->store_synced_Bps() == 0);
  CHECK(tier->min_pieces(8 * mib) == 1);
  CHECK(tier->ideal_load({mib, 1, 1}) == nullptr);
  for (const LoadShape& shape : {LoadShape{8 * mib, 1, 1}, LoadShape{8 * mib, 2048, 1},
                                 LoadShape{mib, 3, 8}, LoadShape{4097, 5, 2}, LoadShape{1, 1, 1}}) {
    const auto load = tier->load(shape);
    for (int run = 0; run < 4; ++run) {
      CHECK(load->run().seconds > 0);
      CHECK(device.unfinished == 0);
    }
  }
}

TEST_CASE("a copy that does not arrive is never a time") {
  HostBuffer device(4 * mib, false);
  const auto tier = create(parse_tier_spec("memory"), options(4 * mib), device);
  tier->prepare();
  const auto load = tier->load({4 * mib, 64, 1});
  CHECK_NOTHROW(load->run());
  device.lose_copies = true;
  CHECK_THROWS_WITH(load->run(), Contains("did not arrive"));
}

TEST_CASE("shapes that the tier was not prepared for are refused") {
  HostBuffer device(4 * mib);
  const auto tier = create(parse_tier_spec("memory"), options(4 * mib), device);
  CHECK_THROWS_WITH(tier->load({mib, 1, 1}), Contains("not prepared"));
  tier->prepare();
  CHECK_THROWS_WITH(tier->load({mib, 1, 8}), Contains("4.00 MiB"));
  CHECK_THROWS_WITH(tier->load({~0ull, 1, 2}), Contains("more than"));
  CHECK_THROWS_WITH(tier->load({0, 1, 1}), Contains("at least 1"));
  CHECK_THROWS_WITH(tier->load({1, 0, 1}), Contains("at least 1"));
  CHECK_THROWS_WITH(tier->load({1, 1, 0}), Contains("at least 1"));
  CHECK_THROWS_WITH(tier->load({4, 5, 1}), Contains("at least one byte"));
  CHECK_THROWS_WITH(create(parse_tier_spec("memory"), options(8 * mib), device),
                    Contains("device buffer holds"));
}

TEST_CASE("memory can be bound to a NUMA node that exists") {
  HostBuffer device(4 * mib);
  const auto bound = create(parse_tier_spec("memory:node=0"), options(4 * mib), device);
  try {
    bound->prepare();
    CHECK(bound->identity().at("numa_node") == "0");
    CHECK(bound->identity().count("memory") == 1);
    CHECK(bound->load({mib, 1, 1})->run().seconds > 0);
  } catch (const error& refusal) { // a container may forbid mbind()
    CHECK_THAT(refusal.what(), Contains("cannot be bound"));
  }
  const auto missing = create(parse_tier_spec("memory:node=1000"), options(4 * mib), device);
  CHECK_THROWS_WITH(missing->prepare(), Contains("no NUMA node 1000") && Contains("it has: 0"));
}

TEST_CASE("the plan for memory stays within two GiB together with a buffer of one") {
  const TierKind& kind = tier_kinds().at("memory");
  CHECK(kind.scratch_bytes(parse_tier_spec("memory"), options(1024 * mib)) <= 1024 * mib);
  CHECK(kind.scratch_bytes(parse_tier_spec("memory"), options(mib)) >= 64 * mib);
}
