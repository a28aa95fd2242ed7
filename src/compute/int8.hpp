#pragma once

#include "compute/bf16.hpp"

#include <cstdint>
#include <vector>

/// Symmetric int8 quantisation with one scale per row of activations and per column of weights.
namespace breakeven::compute {

/// Quantises k bf16 values so that the largest becomes +-127; returns the scale that undoes it (1
/// for a row of zeros).
float quantise_row(const bf16* x, std::int64_t k, std::int8_t* out);

/// plain: [k][n] bf16, row-major; out likewise. Returns n scales.
std::vector<float> quantise_columns(const bf16* plain, std::int64_t k, std::int64_t n,
                                    std::int8_t* out);

/// out[i] (+)= product[i] * row_scale * column_scale[i] + bias[i], in bf16; bias may be null.
void dequantise_row(const std::int32_t* product, float row_scale, const float* column_scale,
                    const float* bias, bf16* out, std::int64_t n, bool accumulate);

} // namespace breakeven::compute
