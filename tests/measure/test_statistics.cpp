#include "support/catch.hpp"

#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace breakeven::measure;

TEST_CASE("medians, quantiles and deviations of small sets") {
  const std::vector<double> none, one = {3}, two = {1, 2}, five = {5, 1, 4, 2, 3};
  CHECK(median(none) == 0);
  CHECK(median(one) == 3);
  CHECK(median(two) == 1.5);
  CHECK(median(five) == 3);
  CHECK(quantile(none, 0.5) == 0);
  CHECK(quantile(five, 0) == 1);
  CHECK(quantile(five, 1) == 5);
  CHECK(quantile(five, 0.25) == 2);
  CHECK(quantile(five, 0.3) == Approx(2.2));
  CHECK(median_absolute_deviation(five) == 1);
  CHECK(relative_noise(five) == Approx(1.4826 / 3));
  CHECK(relative_noise(one) == 0);
}

TEST_CASE("the interval of the median uses the published order statistics") {
  // Two-sided 95 %: Conover, table A3; n = 6: 1st and 6th, 10: 2nd and 9th, 20: 6th and 15th.
  const auto ranks = [](std::size_t n) {
    std::vector<double> values;
    for (std::size_t i = 1; i <= n; ++i)
      values.push_back(static_cast<double>(i));
    return median_interval(values, 0.95);
  };
  CHECK_FALSE(ranks(5).exact);
  CHECK(ranks(5).lo == 1);
  CHECK(ranks(5).hi == 5);
  CHECK(ranks(6).exact);
  CHECK(ranks(6).lo == 1);
  CHECK(ranks(6).hi == 6);
  CHECK(ranks(10).lo == 2);
  CHECK(ranks(10).hi == 9);
  CHECK(ranks(20).lo == 6);
  CHECK(ranks(20).hi == 15);
  CHECK(ranks(100).lo == 40);
  CHECK(ranks(100).hi == 61);
  CHECK(ranks(5000).exact); // no overflow of binomials
  CHECK(ranks(5000).lo == Approx(2431).margin(2));
  CHECK(median_interval({}, 0.95).count == 0);
  CHECK(std::isinf(median_interval({}, 0.95).relative_half_width()));
  CHECK(median_interval(std::vector<double>{7}, 0.95).lo == 7);
}

TEST_CASE("the interval covers the median as often as it says, whatever the distribution") {
  Random random(5);
  for (const std::size_t n : {6u, 11u, 30u}) {
    int covered = 0;
    const int rounds = 2000;
    for (int round = 0; round < rounds; ++round) {
      std::vector<double> values(n);
      for (double& value : values)
        value = -std::log(1 - random.uniform()); // skewed
      const MedianInterval interval = median_interval(values, 0.95);
      covered += interval.lo <= std::log(2.0) && std::log(2.0) <= interval.hi;
    }
    CHECK(covered >= rounds * 94 / 100);
  }
}

TEST_CASE("the random generator is the published one") {
  // Reference output of xoshiro256** seeded by splitmix64(0), computed from the authors' C code.
  Random random(0);
  CHECK(random() == 11091344671253066420ull);
  CHECK(random() == 13793997310169335082ull);
  CHECK(random() == 1900383378846508768ull);
}

TEST_CASE("draws are uniform and within their bounds") {
  Random random(9);
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i)
    ++counts[random.below(7)];
  for (const int count : counts)
    CHECK(count == Approx(10000).margin(500));
  CHECK(random.below(0) == 0);
  CHECK(random.below(1) == 0);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double u = random.uniform();
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    sum += u;
  }
  CHECK(sum / 10000 == Approx(0.5).margin(0.02));
}

TEST_CASE("a resample has the size and the values of its source") {
  Random random(1);
  const std::vector<double> values = {1, 2, 4, 8};
  for (int i = 0; i < 100; ++i) {
    const auto drawn = resample(values, random);
    REQUIRE(drawn.size() == 4);
    for (const double value : drawn)
      REQUIRE(std::find(values.begin(), values.end(), value) != values.end());
  }
  CHECK(resample({}, random).empty());
  CHECK(resampled_median(std::vector<double>{5}, random) == 5);
}

TEST_CASE("drift is seen through noise and not seen in noise") {
  Random random(3);
  int false_alarms = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<double> still;
    for (int i = 0; i < 40; ++i)
      still.push_back(1 + 0.05 * random.uniform());
    false_alarms += relative_drift(still) != 0;
  }
  CHECK(false_alarms <= 15);
  std::vector<double> rising;
  for (int i = 0; i < 1000; ++i)
    rising.push_back(1 + 0.2 * i / 1000 + 0.05 * random.uniform());
  CHECK(relative_drift(rising) == Approx(0.18).margin(0.03));
  std::reverse(rising.begin(), rising.end());
  CHECK(relative_drift(rising) == Approx(-0.18).margin(0.03));
  CHECK(relative_drift(std::vector<double>(50, 2.0)) == 0);
}

TEST_CASE("normal quantiles") {
  CHECK(normal_z(0.95) == Approx(1.959964).epsilon(1e-6));
  CHECK(normal_z(0.99) == Approx(2.575829).epsilon(1e-6));
}
