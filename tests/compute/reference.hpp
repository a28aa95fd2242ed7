#pragma once

#include "compute/attention.hpp"
#include "compute/bf16.hpp"
#include "compute/layer.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

/// Plain double-precision counterparts of what src/compute does fast.
namespace breakeven::test {

using Values = std::vector<double>;

inline Values read(const compute::Runtime& runtime, const void* data, std::int64_t n) {
  Values out;
  for (std::int64_t i = 0; i < n; ++i)
    out.push_back(
        runtime.kernels->element == compute::Element::fp32
            ? static_cast<double>(static_cast<const float*>(data)[i])
            : static_cast<double>(compute::to_float(static_cast<const compute::bf16*>(data)[i])));
  return out;
}

/// The values of random_matrix() with the same arguments, [k][n].
inline Values matrix(const compute::Runtime& runtime, std::int64_t k, std::int64_t n,
                     std::uint64_t layer_seed, std::string_view name) {
  const compute::Buffer plain(static_cast<std::uint64_t>(k * n * runtime.element_bytes()));
  compute::fill_random(*runtime.kernels, plain.data(), k * n,
                       compute::weight_seed(layer_seed, name),
                       static_cast<float>(std::sqrt(3.0 / static_cast<double>(k))), 1);
  return read(runtime, plain.data(), k * n);
}

/// The bias that comes with matrix().
inline Values bias(const compute::Runtime& runtime, std::int64_t k, std::int64_t n,
                   std::uint64_t layer_seed, std::string_view name) {
  const compute::Buffer plain(static_cast<std::uint64_t>(n * runtime.element_bytes()));
  compute::fill_random(*runtime.kernels, plain.data(), n,
                       compute::weight_seed(layer_seed, name) + 1,
                       static_cast<float>(std::sqrt(3.0 / static_cast<double>(k))), 1);
  return read(runtime, plain.data(), n);
}

inline Values norm_weight(const compute::Runtime& runtime, std::int64_t n, std::uint64_t layer_seed,
                          std::string_view name) {
  const compute::Buffer weight = compute::random_norm(runtime, n, layer_seed, name);
  return read(runtime, weight.data(), n);
}

/// x [rows][k] * w [k][n] (+ bias)
inline Values multiply(const Values& x, const Values& w, std::int64_t rows, std::int64_t k,
                       std::int64_t n, const Values& b = {}) {
  Values out(static_cast<std::size_t>(rows * n), 0.0);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = b.empty() ? 0.0 : b[static_cast<std::size_t>(j)];
      for (std::int64_t i = 0; i < k; ++i)
        sum += x[static_cast<std::size_t>(r * k + i)] * w[static_cast<std::size_t>(i * n + j)];
      out[static_cast<std::size_t>(r * n + j)] = sum;
    }
  return out;
}

inline void normalise(double* x, const Values& weight) {
  double sum = 0;
  for (std::size_t i = 0; i < weight.size(); ++i)
    sum += x[i] * x[i];
  const double factor =
      1 / std::sqrt(sum / static_cast<double>(weight.size()) + double{compute::norm_epsilon});
  for (std::size_t i = 0; i < weight.size(); ++i)
    x[i] *= factor * weight[i];
}

inline Values normalised_rows(Values x, const Values& weight) {
  for (std::size_t row = 0; row < x.size(); row += weight.size())
    normalise(&x[row], weight);
  return x;
}

inline double silu(double x) {
  return x / (1 + std::exp(-x));
}

inline void rotate(double* x, std::int64_t dim, std::int64_t position) {
  const std::int64_t half = dim / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) *
                         std::pow(500000.0, -static_cast<double>(i) / static_cast<double>(half));
    const double a = x[i], b = x[i + half];
    x[i] = a * std::cos(angle) - b * std::sin(angle);
    x[i + half] = b * std::cos(angle) + a * std::sin(angle);
  }
}

/// q [new][heads][qk] over k [keys][kv_heads][qk], v [keys][kv_heads][v]; the first query is at
/// `context`. Returns [new][heads][v].
inline Values attention(const compute::AttentionShape& s, const Values& q, const Values& k,
                        const Values& v, std::int64_t context, std::int64_t new_tokens) {
  Values out(static_cast<std::size_t>(new_tokens * s.heads * s.v_dim), 0.0);
  for (std::int64_t i = 0; i < new_tokens; ++i)
    for (std::int64_t head = 0; head < s.heads; ++head) {
      const std::int64_t kv = head / (s.heads / s.kv_heads), position = context + i;
      double sum = 0;
      double* row = &out[static_cast<std::size_t>((i * s.heads + head) * s.v_dim)];
      for (std::int64_t key = 0; key <= position; ++key) {
        const bool visible =
            s.window_tokens == 0 || (s.chunked ? key / s.window_tokens == position / s.window_tokens
                                               : key > position - s.window_tokens);
        if (!visible) continue;
        double score = 0;
        for (std::int64_t d = 0; d < s.qk_dim; ++d)
          score += q[static_cast<std::size_t>((i * s.heads + head) * s.qk_dim + d)] *
                   k[static_cast<std::size_t>((key * s.kv_heads + kv) * s.qk_dim + d)];
        const double weight = std::exp(score * double{s.scale});
        sum += weight;
        for (std::int64_t d = 0; d < s.v_dim; ++d)
          row[d] += weight * v[static_cast<std::size_t>((key * s.kv_heads + kv) * s.v_dim + d)];
      }
      for (std::int64_t d = 0; d < s.v_dim; ++d)
        row[d] /= sum;
    }
  return out;
}

/// Largest difference over the largest value; NaN or infinity anywhere gives infinity.
inline double relative_error(const Values& got, const Values& expected) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(got[i])) return INFINITY;
    worst = std::max(worst, std::abs(got[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  return worst / largest;
}

} // namespace breakeven::test
