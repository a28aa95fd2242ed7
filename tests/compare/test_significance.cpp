#include "support/catch.hpp"

#include "compare/significance.hpp"

#include <cmath>
#include <vector>

using namespace breakeven;
using namespace breakeven::compare;

TEST_CASE("the rank test is exact for few samples") {
  // 2 of C(6,3) = 20 orders are as clear as this one.
  CHECK(rank_test_p(std::vector{1.0, 2.0, 3.0}, std::vector{4.0, 5.0, 6.0}) == -1);
  // 2 of C(8,4) = 70.
  CHECK(rank_test_p(std::vector{1.0, 2.0, 3.0, 4.0}, std::vector{5.0, 6.0, 7.0, 8.0}) ==
        Approx(2.0 / 70));
  CHECK(rank_test_p(std::vector{1.0, 3.0, 5.0, 7.0}, std::vector{2.0, 4.0, 6.0, 8.0}) ==
        Approx(48.0 / 70));
  const std::vector<double> same(8, 1.0);
  CHECK(rank_test_p(same, same) == 1);
  CHECK(rank_test_p(std::vector<double>{}, same) == -1);
}

TEST_CASE("the rank test of many samples agrees with the table of the normal approximation") {
  // 12 and 12 samples apart: U = 0, z = (72 - 0.5) / sqrt(300).
  std::vector<double> a, b;
  for (int i = 0; i < 12; ++i) {
    a.push_back(i);
    b.push_back(100 + i);
  }
  CHECK(rank_test_p(a, b) == Approx(std::erfc(71.5 / std::sqrt(300.0) / std::sqrt(2.0))));
  const std::vector<double> many(500, 2.0);
  CHECK(rank_test_p(many, many) == 1);
}

TEST_CASE("under no difference p of the rank test is uniform") {
  measure::Random random(7);
  int below = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> a(10), b(13);
    for (double& x : a)
      x = random.uniform();
    for (double& x : b)
      x = random.uniform();
    if (rank_test_p(a, b) < 0.1) ++below;
  }
  CHECK(below > 140);
  CHECK(below < 260);
}

TEST_CASE("Holm's correction steps down and never falls") {
  const std::vector<double> corrected = holm({0.01, 0.04, 0.03, 0.005});
  CHECK(corrected[3] == Approx(0.02));
  CHECK(corrected[0] == Approx(0.03));
  CHECK(corrected[2] == Approx(0.06));
  CHECK(corrected[1] == Approx(0.06));
  CHECK(holm({}).empty());
  CHECK(holm({0.7, 0.9})[0] == 1);
}

TEST_CASE("the bootstrap of a median finds its standard error") {
  measure::Random random(3);
  std::vector<double> samples(100);
  for (double& sample : samples)
    sample = 1 + 0.1 * (random.uniform() + random.uniform() + random.uniform() - 1.5);
  const double deviation = log_median_deviation(samples, 500, random); // 1.2533 * 0.05 / 10
  CHECK(deviation > 0.003);
  CHECK(deviation < 0.012);
  CHECK(log_median_deviation(std::vector{1.0}, 500, random) == 0);
}
