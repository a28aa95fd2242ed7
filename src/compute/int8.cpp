#include "compute/int8.hpp"

#include <algorithm>
#include <cmath>

namespace breakeven::compute {
namespace {

constexpr float largest_int8 = 127;

std::int8_t quantise(float value, float inverse_scale) {
  return static_cast<std::int8_t>(std::lrintf(value * inverse_scale));
}

float scale_of(float largest) {
  return largest > 0 ? largest / largest_int8 : 1;
}

} // namespace

float quantise_row(const bf16* x, std::int64_t k, std::int8_t* out) {
  // The sign bit aside, bf16 values order as the integers of their bits.
  std::uint16_t largest_bits = 0;
  for (std::int64_t i = 0; i < k; ++i)
    largest_bits =
        std::max(largest_bits, static_cast<std::uint16_t>(x[i].bits & std::uint16_t{0x7fff}));
  const float scale = scale_of(to_float(bf16{largest_bits}));
  const float inverse = 1 / scale;
  for (std::int64_t i = 0; i < k; ++i)
    out[i] = quantise(to_float(x[i]), inverse);
  return scale;
}

std::vector<float> quantise_columns(const bf16* plain, std::int64_t k, std::int64_t n,
                                    std::int8_t* out) {
  std::vector<float> scale(static_cast<std::size_t>(n), 0.0F);
  for (std::int64_t r = 0; r < k; ++r)
    for (std::int64_t c = 0; c < n; ++c)
      scale[static_cast<std::size_t>(c)] =
          std::max(scale[static_cast<std::size_t>(c)], std::fabs(to_float(plain[r * n + c])));
  for (float& value : scale)
    value = scale_of(value);
  for (std::int64_t r = 0; r < k; ++r)
    for (std::int64_t c = 0; c < n; ++c)
      out[r * n + c] = quantise(to_float(plain[r * n + c]), 1 / scale[static_cast<std::size_t>(c)]);
  return scale;
}

void dequantise_row(const std::int32_t* product, float row_scale, const float* column_scale,
                    const float* bias, bf16* out, std::int64_t n, bool accumulate) {
  for (std::int64_t i = 0; i < n; ++i) {
    float value = static_cast<float>(product[i]) * (row_scale * column_scale[i]);
    if (bias != nullptr) value += bias[i];
    if (accumulate) value += to_float(out[i]);
    out[i] = to_bf16(value);
  }
}

} // namespace breakeven::compute
