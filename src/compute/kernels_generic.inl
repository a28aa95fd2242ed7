// Portable inner loops, compiled once per instruction set by the kernels_*.cpp files: everything
// lives in an unnamed namespace and calls nothing that the linker could share between them.
// BREAKEVEN_VECTOR_BYTES must be set to the width of the target's registers.

#pragma once

#include "compute/kernels.hpp"

namespace breakeven::compute {
namespace {

struct bfloat {
  std::uint16_t bits;
};

inline float widen(bfloat x) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16);
}
inline float widen(float x) {
  return x;
}

template <class T>
inline T narrow(float x);
template <>
inline float narrow<float>(float x) {
  return x;
}
template <>
inline bfloat narrow<bfloat>(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

template <class T>
constexpr std::int64_t pair_of = sizeof(T) == 2 ? 2 : 1;

/// 2^x, relative error below 2e-7 for |x| < 126; clamps beyond. Degree-6 Taylor about 0 on
/// [-0.5, 0.5]; rounding by adding 1.5 * 2^23 vectorises on every target.
inline float power_of_two(float x) {
  x = x < -126.0F ? -126.0F : x;
  x = x > 126.0F ? 126.0F : x;
  const float shifted = x + 12582912.0F;
  const float f = x - (shifted - 12582912.0F);
  const std::uint32_t exponent = __builtin_bit_cast(std::uint32_t, shifted) << 23;
  float p = 1.5403530e-4F;
  p = p * f + 1.3333558e-3F;
  p = p * f + 9.6181291e-3F;
  p = p * f + 5.5504109e-2F;
  p = p * f + 2.4022651e-1F;
  p = p * f + 6.9314718e-1F;
  p = p * f + 1.0F;
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, p) + exponent);
}

inline float sigmoid(float x) {
  return 1.0F / (1.0F + power_of_two(-1.4426950F * x));
}

template <class T>
void rms_norm(const void* x_, const void* weight_, void* out_, std::int64_t n, float epsilon) {
  const T* x = static_cast<const T*>(x_);
  const T* weight = static_cast<const T*>(weight_);
  T* out = static_cast<T*>(out_);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i)
    sum += widen(x[i]) * widen(x[i]);
  const float factor = 1.0F / __builtin_sqrtf(sum / static_cast<float>(n) + epsilon);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = narrow<T>(widen(x[i]) * factor * widen(weight[i]));
}

template <class T>
void add_scaled(const void* x_, float factor, void* acc_, std::int64_t n) {
  const T* x = static_cast<const T*>(x_);
  T* acc = static_cast<T*>(acc_);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    acc[i] = narrow<T>(widen(acc[i]) + factor * widen(x[i]));
}

template <class T>
void add(const void* x, void* acc, std::int64_t n) {
  add_scaled<T>(x, 1.0F, acc, n);
}

template <RowActivation A>
inline float activation(float x) {
  if constexpr (A == RowActivation::silu) return x * sigmoid(x);
  if constexpr (A == RowActivation::gelu) // tanh approximation, as a sigmoid
    return x * sigmoid(1.5957691F * (x + 0.044715F * x * x * x));
  return x > 0 ? x * x : 0.0F;
}

template <class T, RowActivation A>
void gated_as(const T* gate, const T* up, T* out, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = narrow<T>(activation<A>(widen(gate[i])) * widen(up[i]));
}

template <class T>
void gated(const void* gate, const void* up, void* out, std::int64_t n, RowActivation a) {
  const T* g = static_cast<const T*>(gate);
  const T* u = static_cast<const T*>(up);
  T* o = static_cast<T*>(out);
  if (a == RowActivation::silu) gated_as<T, RowActivation::silu>(g, u, o, n);
  if (a == RowActivation::gelu) gated_as<T, RowActivation::gelu>(g, u, o, n);
  if (a == RowActivation::relu2) gated_as<T, RowActivation::relu2>(g, u, o, n);
}

template <class T, RowActivation A>
void activate_as(const T* x, T* out, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = narrow<T>(activation<A>(widen(x[i])));
}

template <class T>
void activate(const void* x, void* out, std::int64_t n, RowActivation a) {
  const T* in = static_cast<const T*>(x);
  T* o = static_cast<T*>(out);
  if (a == RowActivation::silu) activate_as<T, RowActivation::silu>(in, o, n);
  if (a == RowActivation::gelu) activate_as<T, RowActivation::gelu>(in, o, n);
  if (a == RowActivation::relu2) activate_as<T, RowActivation::relu2>(in, o, n);
}

template <class T>
void rope(void* x_, const float* cos_sin, std::int64_t n) {
  T* lo = static_cast<T*>(x_);
  const std::int64_t half = n / 2;
  T* hi = lo + half;
  const float* cosine = cos_sin;
  const float* sine = cos_sin + half;
#pragma omp simd
  for (std::int64_t i = 0; i < half; ++i) {
    const float a = widen(lo[i]), b = widen(hi[i]);
    lo[i] = narrow<T>(a * cosine[i] - b * sine[i]);
    hi[i] = narrow<T>(b * cosine[i] + a * sine[i]);
  }
}

template <class T>
float dot(const void* a_, const void* b_, std::int64_t n) {
  const T* a = static_cast<const T*>(a_);
  const T* b = static_cast<const T*>(b_);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i)
    sum += widen(a[i]) * widen(b[i]);
  return sum;
}

/// Counter-based: the murmur3 finaliser over (seed, index), so that any thread can make any part.
template <class T>
void fill(void* out_, std::int64_t n, std::uint64_t seed, std::uint64_t first, float amplitude) {
  T* out = static_cast<T*>(out_);
  const float factor = amplitude / 32768.5F;
  const auto key = static_cast<std::uint32_t>(seed ^ (seed >> 32) ^ ((first >> 32) * 0x9e3779b9U));
  const auto base = static_cast<std::uint32_t>(first);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint32_t h = (base + static_cast<std::uint32_t>(i)) * 0x9e3779b1U + key;
    h = (h ^ (h >> 16)) * 0x85ebca6bU;
    h = (h ^ (h >> 13)) * 0xc2b2ae35U;
    const auto centred = static_cast<std::int32_t>((h ^ (h >> 16)) & 0xffffU) - 32768;
    out[i] = narrow<T>((static_cast<float>(centred) + 0.5F) * factor);
  }
}

template <class T>
void store_k(const void* head_, std::byte* page_, std::int64_t token, std::int64_t dim) {
  constexpr std::int64_t pair = pair_of<T>;
  const T* head = static_cast<const T*>(head_);
  T* page = reinterpret_cast<T*>(page_) + token * pair;
  for (std::int64_t i = 0; i < dim; ++i)
    page[(i / pair) * page_tokens * pair + i % pair] = head[i];
}

template <class T>
void store_v(const void* head_, std::byte* page_, std::int64_t token, std::int64_t dim,
             std::int64_t v_padded) {
  constexpr std::int64_t pair = pair_of<T>;
  const T* head = static_cast<const T*>(head_);
  T* row = reinterpret_cast<T*>(page_) + (token / pair) * v_padded * pair + token % pair;
  for (std::int64_t i = 0; i < dim; ++i)
    row[i * pair] = head[i];
}

template <class T>
void convolve(const void* x_, std::int64_t stride, const void* weights_, std::int64_t taps,
              float* out, std::int64_t n) {
  const T* x = static_cast<const T*>(x_);
  const T* weights = static_cast<const T*>(weights_);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = weights ? 0.0F : widen(x[i]);
  for (std::int64_t tap = 0; weights && tap < taps; ++tap) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i)
      out[i] += widen(weights[tap * n + i]) * widen(x[i - tap * stride]);
  }
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    out[i] *= sigmoid(out[i]);
}

// fp32 flash attention on registers of BREAKEVEN_VECTOR_BYTES.

typedef float lanes __attribute__((vector_size(BREAKEVEN_VECTOR_BYTES), may_alias));
constexpr int lane_count = BREAKEVEN_VECTOR_BYTES / 4;
constexpr int row_group = BREAKEVEN_VECTOR_BYTES == 64 ? 8 : BREAKEVEN_VECTOR_BYTES == 32 ? 3 : 1;
constexpr float masked_score = -1e30F; // finite, so that no inf - inf can arise

/// c[Rows][32] (+)= a[Rows][depth] * b[depth][32]: the one product of both halves of attention.
template <int Rows, bool Accumulate>
inline void product(const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
                    std::int64_t depth, float* c, std::int64_t c_stride) {
  constexpr int columns = 32 / lane_count;
  lanes sum[Rows][columns];
  for (int r = 0; r < Rows; ++r)
    for (int j = 0; j < columns; ++j)
      sum[r][j] =
          Accumulate ? *reinterpret_cast<const lanes*>(c + r * c_stride + j * lane_count) : lanes{};
  for (std::int64_t d = 0; d < depth; ++d) {
    const lanes* row = reinterpret_cast<const lanes*>(b + d * b_stride);
    for (int r = 0; r < Rows; ++r) {
      const float x = a[r * a_stride + d];
      for (int j = 0; j < columns; ++j)
        sum[r][j] += x * row[j];
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int j = 0; j < columns; ++j)
      *reinterpret_cast<lanes*>(c + r * c_stride + j * lane_count) = sum[r][j];
}

template <bool Accumulate>
void matmul_as(const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
               float* c, std::int64_t c_stride, std::int64_t m, std::int64_t n, std::int64_t k) {
  for (std::int64_t column = 0; column < n; column += 32) {
    std::int64_t r = 0;
    for (; r + row_group <= m; r += row_group)
      product<row_group, Accumulate>(a + r * a_stride, a_stride, b + column, b_stride, k,
                                     c + r * c_stride + column, c_stride);
    for (; r < m; ++r)
      product<1, Accumulate>(a + r * a_stride, a_stride, b + column, b_stride, k,
                             c + r * c_stride + column, c_stride);
  }
}

void matmul(const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride, float* c,
            std::int64_t c_stride, std::int64_t m, std::int64_t n, std::int64_t k,
            bool accumulate) {
  if (accumulate)
    matmul_as<true>(a, a_stride, b, b_stride, c, c_stride, m, n, k);
  else
    matmul_as<false>(a, a_stride, b, b_stride, c, c_stride, m, n, k);
}

void scores_fp32(const AttentionTile& t, std::int64_t first_key, std::int64_t keys) {
  const float* q = static_cast<const float*>(t.q);
  for (std::int64_t key = 0; key < keys; key += page_tokens) {
    const auto* page =
        reinterpret_cast<const float*>(t.k + (first_key + key) / page_tokens * t.k_page_bytes);
    std::int64_t r = 0;
    for (; r + row_group <= t.rows; r += row_group)
      product<row_group, false>(q + r * t.qk_padded, t.qk_padded, page, page_tokens, t.qk_padded,
                                t.scores + r * key_block + key, key_block);
    for (; r < t.rows; ++r)
      product<1, false>(q + r * t.qk_padded, t.qk_padded, page, page_tokens, t.qk_padded,
                        t.scores + r * key_block + key, key_block);
  }
}

void softmax_fp32(const AttentionTile& t, std::int64_t first_key, std::int64_t keys) {
  auto* probabilities = static_cast<float*>(t.probabilities);
  const float factor = t.scale * 1.4426950F;
  for (std::int64_t r = 0; r < t.rows; ++r) {
    float* s = t.scores + r * key_block;
    float* p = probabilities + r * key_block;
    const std::int64_t begin = t.key_begin[r] - first_key, end = t.key_end[r] - first_key;
    for (std::int64_t i = 0; i < begin && i < keys; ++i)
      s[i] = masked_score;
    for (std::int64_t i = end < 0 ? 0 : end; i < keys; ++i)
      s[i] = masked_score;
    float largest = t.row_max[r];
#pragma omp simd reduction(max : largest)
    for (std::int64_t i = 0; i < keys; ++i)
      largest = s[i] > largest ? s[i] : largest;
    const float rescale = power_of_two((t.row_max[r] - largest) * factor);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < keys; ++i) {
      p[i] = power_of_two((s[i] - largest) * factor);
      sum += p[i];
    }
    t.row_max[r] = largest;
    t.row_sum[r] = t.row_sum[r] * rescale + sum;
    float* acc = t.accumulator + r * t.v_padded;
#pragma omp simd
    for (std::int64_t i = 0; i < t.v_padded; ++i)
      acc[i] *= rescale;
  }
}

void accumulate_fp32(const AttentionTile& t, std::int64_t first_key, std::int64_t keys) {
  const float* p = static_cast<const float*>(t.probabilities);
  for (std::int64_t key = 0; key < keys; key += page_tokens) {
    const auto* page =
        reinterpret_cast<const float*>(t.v + (first_key + key) / page_tokens * t.v_page_bytes);
    for (std::int64_t column = 0; column < t.v_padded; column += 32) {
      std::int64_t r = 0;
      for (; r + row_group <= t.rows; r += row_group)
        product<row_group, true>(p + r * key_block + key, key_block, page + column, t.v_padded,
                                 page_tokens, t.accumulator + r * t.v_padded + column, t.v_padded);
      for (; r < t.rows; ++r)
        product<1, true>(p + r * key_block + key, key_block, page + column, t.v_padded, page_tokens,
                         t.accumulator + r * t.v_padded + column, t.v_padded);
    }
  }
}

/// The frame of every attention kernel: walks the key blocks that any row sees.
template <class T, auto Scores, auto Softmax, auto Accumulate>
void attend_blocks(const AttentionTile& t) {
  std::int64_t begin = t.key_begin[0], end = t.key_end[0];
  for (std::int64_t r = 0; r < t.rows; ++r) {
    begin = t.key_begin[r] < begin ? t.key_begin[r] : begin;
    end = t.key_end[r] > end ? t.key_end[r] : end;
    t.row_max[r] = masked_score;
    t.row_sum[r] = 0;
  }
  const std::int64_t padded_rows = (t.rows + 31) / 32 * 32;
  for (std::int64_t i = 0; i < padded_rows * t.v_padded; ++i)
    t.accumulator[i] = 0;
  for (std::int64_t key = begin / page_tokens * page_tokens; key < end; key += key_block) {
    const std::int64_t left = (end - key + page_tokens - 1) / page_tokens * page_tokens;
    const std::int64_t keys = left < key_block ? left : key_block;
    Scores(t, key, keys);
    Softmax(t, key, keys);
    Accumulate(t, key, keys);
  }
  for (std::int64_t r = 0; r < t.rows; ++r) {
    const float factor = 1.0F / t.row_sum[r];
    const float* acc = t.accumulator + r * t.v_padded;
    T* out = static_cast<T*>(t.out[r]);
#pragma omp simd
    for (std::int64_t i = 0; i < t.v_dim; ++i)
      out[i] = narrow<T>(acc[i] * factor);
  }
}

template <class T>
constexpr Kernels table(const char* name, Element element, void (*attend)(const AttentionTile&)) {
  return {name,   element, rms_norm<T>, add<T>,     add_scaled<T>, gated<T>, activate<T>, rope<T>,
          dot<T>, fill<T>, store_k<T>,  store_v<T>, convolve<T>,   matmul,   attend};
}

[[maybe_unused]] void attend_fp32(const AttentionTile& t) {
  attend_blocks<float, scores_fp32, softmax_fp32, accumulate_fp32>(t);
}

} // namespace
} // namespace breakeven::compute
