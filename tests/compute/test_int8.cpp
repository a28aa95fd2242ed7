#include "compute/int8.hpp"
#include "fixture.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <cstdlib>

using namespace breakeven;
using compute::bf16;
using compute::to_bf16;

TEST_CASE("quantising a row keeps every value within half a step, and its largest exactly") {
  const std::vector<float> values = {0.5F, -2.0F, 1.0F, 0.0F, -0.25F};
  std::vector<bf16> x;
  for (const float value : values)
    x.push_back(to_bf16(value));
  std::vector<std::int8_t> q(x.size());
  const float scale = compute::quantise_row(x.data(), 5, q.data());
  CHECK(q[1] == -127);
  for (std::size_t i = 0; i < x.size(); ++i)
    CHECK(std::fabs(static_cast<float>(q[i]) * scale - values[i]) <= scale / 2 + 1e-6F);
}

TEST_CASE("a row of zeros quantises to zeros") {
  const std::vector<bf16> x(3);
  std::vector<std::int8_t> q(3, 5);
  CHECK(compute::quantise_row(x.data(), 3, q.data()) == 1);
  CHECK(q == std::vector<std::int8_t>(3, 0));
}

TEST_CASE("each column of weights has its own scale") {
  const std::vector<bf16> w = {to_bf16(1), to_bf16(-100), to_bf16(-0.5F), to_bf16(50)};
  std::vector<std::int8_t> q(4);
  const auto scale = compute::quantise_columns(w.data(), 2, 2, q.data());
  REQUIRE(scale.size() == 2);
  CHECK(scale[0] == Approx(1.0 / 127));
  CHECK(scale[1] == Approx(100.0 / 127));
  CHECK(q == std::vector<std::int8_t>{127, -127, -64, 64});
}

TEST_CASE("an int8 product is that of the rounded factors") {
  const auto gemm = compute::make_onednn_int8_gemm(2);
  if (!gemm) {
    WARN("skipped: no int8 dot products here");
    return;
  }
  CHECK(gemm->element() == compute::Element::bf16);
  const std::int64_t k = 96, n = 40, rows = 7, stride = 128;
  const compute::Kernels& kernels = *compute::usable_kernels(compute::Element::bf16).front();
  const auto random = [&](std::int64_t count, std::uint64_t seed) {
    std::vector<bf16> values(static_cast<std::size_t>(count));
    compute::fill_random(kernels, values.data(), count, seed, 1.0F, 1);
    return values;
  };
  const auto w = random(k * n, 1), x = random(rows * stride, 2), bias = random(n, 3);
  auto out = random(rows * n, 4);
  const auto before = out;
  const auto packed = gemm->pack(k, n, w.data(), bias.data(), 64);
  gemm->run(*packed, {x.data(), rows, out.data(), true, stride, 0});

  std::vector<std::int8_t> qw(w.size()), qx(static_cast<std::size_t>(k));
  const auto w_scale = compute::quantise_columns(w.data(), k, n, qw.data());
  for (std::int64_t r = 0; r < rows; ++r) {
    const float x_scale = compute::quantise_row(x.data() + r * stride, k, qx.data());
    for (std::int64_t c = 0; c < n; ++c) {
      int sum = 0;
      for (std::int64_t i = 0; i < k; ++i)
        sum += int{qx[static_cast<std::size_t>(i)]} * int{qw[static_cast<std::size_t>(i * n + c)]};
      const auto at = static_cast<std::size_t>(r * n + c);
      const double expected = sum * double{x_scale} * double{w_scale[static_cast<std::size_t>(c)]} +
                              compute::to_float(bias[static_cast<std::size_t>(c)]) +
                              compute::to_float(before[at]);
      CHECK(compute::to_float(out[at]) == Approx(expected).epsilon(0.005).margin(0.01));
    }
  }
}
