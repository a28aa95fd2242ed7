#include "support/catch.hpp"

#include "admission/sample.hpp"

using namespace breakeven;
using namespace sample;

TEST_CASE("interpolation passes through every measured point") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    File file = random_file(random, 0.3);
    file.grids.resize(std::min<std::size_t>(file.grids.size(), 1));
    const Policy policy = make_policy(file);
    if (file.grids.empty()) continue;
    const Grid& grid = file.grids[0];
    for (std::size_t q = 0; q < grid.context.size(); ++q)
      for (std::size_t j = 0; j < grid.fresh.size() && grid.fresh[j] <= file.chunk; ++j) {
        const double dense = step_s(file, grid.context[q], grid.fresh[j]) - grid.seconds[q][j];
        CHECK(policy.curve().step_s(grid.context[q], grid.fresh[j]) ==
              Approx(dense + grid.seconds[q][j]).epsilon(1e-9));
      }
  }
}

TEST_CASE("the closed form of prefill equals the sum of its steps, beyond the grid as well") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 2000; ++i) {
    const File file = random_file(random, i % 2 ? 0.3 : 0.0);
    const Policy policy = make_policy(file);
    for (int k = 0; k < 10; ++k) {
      const auto context = static_cast<std::int64_t>(random() % 80'000);
      const auto fresh = static_cast<std::int64_t>(random() % (k % 2 ? 3000 : 60'000)) + 1;
      INFO("chunk " << file.chunk << " context " << context << " new " << fresh);
      REQUIRE(policy.curve().prefill_s(context, fresh) ==
              Approx(prefill_s(file, context, fresh)).epsilon(1e-9));
      const auto single = fresh % file.chunk + 1;
      REQUIRE(policy.curve().step_s(context, std::min(single, file.chunk)) ==
              Approx(step_s(file, context, std::min(single, file.chunk))).epsilon(1e-9));
    }
  }
}

TEST_CASE("a step never costs less than nothing, nor less for more work on rising curves") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 500; ++i) {
    const bool smooth = i % 2 == 0;
    const File file = random_file(random, smooth ? 0.0 : 0.9);
    const Policy policy = make_policy(file);
    for (int k = 0; k < 50; ++k) {
      const auto context = static_cast<std::int64_t>(random() % 1'000'000);
      const auto fresh =
          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(file.chunk)) + 1;
      const double here = policy.curve().step_s(context, fresh);
      REQUIRE(here >= 0);
      if (!smooth) continue;
      REQUIRE(policy.curve().step_s(context + 100, fresh) >= here * (1 - 1e-12));
      REQUIRE(policy.curve().step_s(context, std::min(fresh + 10, file.chunk)) >=
              here * (1 - 1e-12));
    }
  }
}

TEST_CASE("below its first point the dense part is constant and attention goes to nothing") {
  File file = plain();
  file.dense_new[0] = 32;
  file.grids[0].fresh[0] = 32;
  const Policy policy = make_policy(file);
  const double attention = file.grids[0].seconds[0][0];
  CHECK(policy.curve().step_s(0, 32) == Approx(file.dense[0] + attention));
  CHECK(policy.curve().step_s(0, 8) == Approx(file.dense[0] + attention / 4));
  CHECK(policy.curve().step_s(0, 0) == 0);
}
