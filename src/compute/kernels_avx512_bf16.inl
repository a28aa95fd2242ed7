// bf16 attention on AVX512-BF16: products by vdpbf16ps, softmax on 16 lanes. Included by files
// that are compiled for AVX512-BF16, after kernels_generic.inl.

#pragma once

#include "compute/kernels_generic.inl"

#include <immintrin.h>

namespace breakeven::compute {
namespace {

inline __m512bh load_pairs(const void* p) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(p));
}

typedef int aliased_int __attribute__((may_alias));

inline __m512bh broadcast_pair(const bfloat* p) {
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(*reinterpret_cast<const aliased_int*>(p)));
}

/// 2^x on 16 lanes, relative error 1.5e-4 (results are rounded to bf16, 2e-3): minimax cubic on
/// the fraction, exponent by vscalefps.
inline __m512 power_of_two_16(__m512 x) {
  const __m512 f = _mm512_reduce_ps(x, 0x09); // x - floor(x)
  __m512 p = _mm512_fmadd_ps(f, _mm512_set1_ps(0.0782455F), _mm512_set1_ps(0.2261715F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.6955298F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.9999252F));
  return _mm512_scalef_ps(p, x);
}

/// c[Rows][16 * Vectors] = (scale *) c + a[Rows][2 * pairs] * b[pairs][16 * Vectors][2].
/// Columns from 32 on come from `b_high`, so that two pages can be one product.
template <int Rows, int Vectors, bool Accumulate>
inline void pair_product(const bfloat* a, std::int64_t a_stride, const std::byte* b_low,
                         const std::byte* b_high, std::int64_t b_stride_bytes, std::int64_t pairs,
                         const float* scale, float* c, std::int64_t c_stride) {
  __m512 sum[Rows][Vectors];
  for (int r = 0; r < Rows; ++r)
    for (int j = 0; j < Vectors; ++j) {
      if constexpr (Accumulate)
        sum[r][j] =
            _mm512_mul_ps(_mm512_load_ps(c + r * c_stride + 16 * j), _mm512_set1_ps(scale[r]));
      else
        sum[r][j] = _mm512_setzero_ps();
    }
  for (std::int64_t d = 0; d < pairs; ++d) {
    __m512bh row[Vectors];
    for (int j = 0; j < Vectors; ++j)
      row[j] = load_pairs((j < 2 ? b_low : b_high) + d * b_stride_bytes + 64 * (j % 2));
    for (int r = 0; r < Rows; ++r) {
      const __m512bh x = broadcast_pair(a + r * a_stride + 2 * d);
      for (int j = 0; j < Vectors; ++j)
        sum[r][j] = _mm512_dpbf16_ps(sum[r][j], x, row[j]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int j = 0; j < Vectors; ++j)
      _mm512_store_ps(c + r * c_stride + 16 * j, sum[r][j]);
}

/// pair_product over any number of rows: 24 of the 32 registers hold sums.
template <int Vectors, bool Accumulate>
inline void pair_product_rows(std::int64_t rows, const bfloat* a, std::int64_t a_stride,
                              const std::byte* b_low, const std::byte* b_high,
                              std::int64_t b_stride_bytes, std::int64_t pairs, const float* scale,
                              float* c, std::int64_t c_stride) {
  constexpr int group = 24 / Vectors;
  std::int64_t r = 0;
  for (; r + group <= rows; r += group)
    pair_product<group, Vectors, Accumulate>(a + r * a_stride, a_stride, b_low, b_high,
                                             b_stride_bytes, pairs, scale + r, c + r * c_stride,
                                             c_stride);
  for (; r + 2 <= rows; r += 2)
    pair_product<2, Vectors, Accumulate>(a + r * a_stride, a_stride, b_low, b_high, b_stride_bytes,
                                         pairs, scale + r, c + r * c_stride, c_stride);
  for (; r < rows; ++r)
    pair_product<1, Vectors, Accumulate>(a + r * a_stride, a_stride, b_low, b_high, b_stride_bytes,
                                         pairs, scale + r, c + r * c_stride, c_stride);
}

[[maybe_unused]] void scores_bf16(const AttentionTile& t, std::int64_t first_key,
                                  std::int64_t keys) {
  const auto* q = static_cast<const bfloat*>(t.q);
  constexpr std::int64_t row_bytes = page_tokens * 4;
  std::int64_t key = 0;
  for (; key + 2 * page_tokens <= keys; key += 2 * page_tokens) {
    const std::byte* page = t.k + (first_key + key) / page_tokens * t.k_page_bytes;
    pair_product_rows<4, false>(t.rows, q, t.qk_padded, page, page + t.k_page_bytes, row_bytes,
                                t.qk_padded / 2, t.row_scale, t.scores + key, key_block);
  }
  if (key < keys) {
    const std::byte* page = t.k + (first_key + key) / page_tokens * t.k_page_bytes;
    pair_product_rows<2, false>(t.rows, q, t.qk_padded, page, page, row_bytes, t.qk_padded / 2,
                                t.row_scale, t.scores + key, key_block);
  }
}

/// Sets the scores of keys outside [begin, end) of this block, if any, to masked_score.
inline void mask_row(float* s, std::int64_t begin, std::int64_t end, std::int64_t keys) {
  if (begin <= 0 && end >= keys) return;
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto clamp = [keys](std::int64_t x) {
    return static_cast<int>(x < 0 ? 0 : x > keys ? keys : x);
  };
  const __m512i lo = _mm512_set1_epi32(clamp(begin)), hi = _mm512_set1_epi32(clamp(end));
  for (int i = 0; i < static_cast<int>(keys); i += 16) {
    const __m512i key = _mm512_add_epi32(lane, _mm512_set1_epi32(i));
    const __mmask16 hidden =
        static_cast<__mmask16>(_mm512_cmplt_epi32_mask(key, lo) | _mm512_cmpge_epi32_mask(key, hi));
    _mm512_mask_store_ps(s + i, hidden, _mm512_set1_ps(masked_score));
  }
}

void softmax_bf16(const AttentionTile& t, std::int64_t first_key, std::int64_t keys) {
  auto* probabilities = static_cast<bfloat*>(t.probabilities);
  const float factor = t.scale * 1.4426950F;
  for (std::int64_t r = 0; r < t.rows; ++r) {
    float* s = t.scores + r * key_block;
    bfloat* p = probabilities + r * key_block;
    mask_row(s, t.key_begin[r] - first_key, t.key_end[r] - first_key, keys);
    __m512 top0 = _mm512_set1_ps(t.row_max[r]), top1 = top0;
    for (std::int64_t i = 0; i < keys; i += 32) {
      top0 = _mm512_max_ps(top0, _mm512_load_ps(s + i));
      top1 = _mm512_max_ps(top1, _mm512_load_ps(s + i + 16));
    }
    const float largest = _mm512_reduce_max_ps(_mm512_max_ps(top0, top1));
    const __m512 shift = _mm512_set1_ps(-largest * factor), scale = _mm512_set1_ps(factor);
    __m512 sum0 = _mm512_setzero_ps(), sum1 = sum0;
    for (std::int64_t i = 0; i < keys; i += 32) {
      const __m512 a = power_of_two_16(_mm512_fmadd_ps(_mm512_load_ps(s + i), scale, shift));
      const __m512 b = power_of_two_16(_mm512_fmadd_ps(_mm512_load_ps(s + i + 16), scale, shift));
      sum0 = _mm512_add_ps(sum0, a);
      sum1 = _mm512_add_ps(sum1, b);
      _mm512_store_si512(p + i, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a)));
    }
    const float rescale = power_of_two((t.row_max[r] - largest) * factor);
    t.row_max[r] = largest;
    t.row_sum[r] = t.row_sum[r] * rescale + _mm512_reduce_add_ps(_mm512_add_ps(sum0, sum1));
    t.row_scale[r] = rescale;
  }
}

[[maybe_unused]] void accumulate_bf16(const AttentionTile& t, std::int64_t first_key,
                                      std::int64_t keys) {
  const auto* p = static_cast<const bfloat*>(t.probabilities);
  const std::int64_t row_bytes = t.v_padded * 4;
  const std::byte* page = t.v + first_key / page_tokens * t.v_page_bytes;
  // Pages of one head follow each other without a gap, so their rows are one run of pairs.
  std::int64_t column = 0;
  for (; column + 64 <= t.v_padded; column += 64)
    pair_product_rows<4, true>(t.rows, p, key_block, page + column * 4, page + column * 4 + 128,
                               row_bytes, keys / 2, t.row_scale, t.accumulator + column,
                               t.v_padded);
  if (column < t.v_padded)
    pair_product_rows<2, true>(t.rows, p, key_block, page + column * 4, page + column * 4,
                               row_bytes, keys / 2, t.row_scale, t.accumulator + column,
                               t.v_padded);
}

float dot_bf16(const void* a_, const void* b_, std::int64_t n) {
  const auto* a = static_cast<const bfloat*>(a_);
  const auto* b = static_cast<const bfloat*>(b_);
  __m512 sum[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                   _mm512_setzero_ps()};
  std::int64_t i = 0;
  for (; i + 128 <= n; i += 128)
    for (int j = 0; j < 4; ++j)
      sum[j] = _mm512_dpbf16_ps(sum[j], load_pairs(a + i + 32 * j), load_pairs(b + i + 32 * j));
  float rest = _mm512_reduce_add_ps(
      _mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3])));
  for (; i < n; ++i)
    rest += widen(a[i]) * widen(b[i]);
  return rest;
}

constexpr Kernels bf16_table(const char* name, void (*attend)(const AttentionTile&)) {
  Kernels kernels = table<bfloat>(name, Element::bf16, attend);
  kernels.dot = dot_bf16;
  return kernels;
}

} // namespace
} // namespace breakeven::compute
