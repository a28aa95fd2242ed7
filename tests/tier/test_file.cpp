#include "support/catch.hpp"

#include "support/error.hpp"
#include "tier_fixture.hpp"

using namespace breakeven;
using namespace breakeven::tier;
using Catch::Matchers::Contains;

TEST_CASE("loads from files arrive, whatever their shape and the device") {
  const TestDirectory directory;
  const bool visible = GENERATE(true, false);
  const std::string keys = GENERATE("", ",access=engine", ",access=ideal", ",o_direct=off");
  const std::size_t misaligned = GENERATE(0, 16);
  if (misaligned != 0 && (!visible || !keys.empty())) return;
  CAPTURE(visible, keys, misaligned);
  HostBuffer device(8 * mib, visible, misaligned);
  const auto tier = create(parse_tier_spec(directory.spec(keys)), small_options(8 * mib), device);
  tier->prepare();
  CAPTURE(joined(tier->warnings()));
  REQUIRE(tier->disqualified().empty());
  CHECK(directory.names().empty()); // nothing has a name even while it is in use
  for (const LoadShape& shape :
       {LoadShape{8 * mib, 8, 1}, LoadShape{8 * mib, 512, 1}, LoadShape{mib, 3, 8},
        LoadShape{mib + 1, 5, 2}, LoadShape{3 * mib, 300, 1}, LoadShape{1, 1, 1}}) {
    CAPTURE(shape.bytes, shape.pieces, shape.in_flight);
    const auto load = tier->load(shape);
    for (int run = 0; run < 3; ++run)
      CHECK(load->run().seconds > 0);
    CHECK(device.unfinished == 0);
    if (const auto ideal = tier->ideal_load(shape)) CHECK(ideal->run().seconds > 0);
  }
  for (const auto& [name, value] : tier->identity())
    UNSCOPED_INFO(name << " = " << value);
  CHECK(tier->identity().count("file_system") == 1);
  CHECK(tier->identity().count("reads") == 1);
}
