#include "cuda/kernels/rows.hpp"

#include "cuda/kernels/rows.cuh"

#include <cuda_fp8.h>

namespace breakeven::cuda {
namespace {

__global__ void embed_kernel(bf16* hidden, const bf16* table, std::uint64_t table_rows, int width,
                             std::uint64_t seed) {
  const std::uint64_t token =
      ((seed * 0x9e3779b97f4a7c15U + blockIdx.x * 0xd1b54a32d192ed03U) >> 20) % table_rows;
  for (int w = static_cast<int>(threadIdx.x); w < width / 8; w += static_cast<int>(blockDim.x))
    words(hidden + static_cast<std::int64_t>(blockIdx.x) * width)[w] =
        words(table + static_cast<std::int64_t>(token) * width)[w];
}

__global__ void rope_table_kernel(float* table, std::int64_t first, std::int64_t count, int half) {
  const std::int64_t at = thread_index();
  if (at >= count) return;
  const auto pair = static_cast<int>(at % half);
  constexpr float log2_base = 18.931568569324174F; // of 500000; angles do not change the work
  const float angle = static_cast<float>(first + at / half) *
                      exp2f(-log2_base * static_cast<float>(pair) / static_cast<float>(half));
  float* row = table + at / half * 2 * half;
  sincosf(angle, row + half + pair, row + pair);
}

/// One block per token; threads walk over the pairs of all heads, two at a time.
__global__ void rope_kernel(bf16* x, const float* table, int heads, int half,
                            std::int64_t head_stride, std::int64_t token_stride) {
  const float* angles = table + static_cast<std::int64_t>(blockIdx.x) * 2 * half;
  bf16* row = x + blockIdx.x * token_stride;
  for (int i = static_cast<int>(threadIdx.x); i < heads * half / 2;
       i += static_cast<int>(blockDim.x)) {
    const int head = i / (half / 2), pair = i % (half / 2) * 2;
    auto* low = reinterpret_cast<__nv_bfloat162*>(row + head * head_stride + pair);
    auto* high = reinterpret_cast<__nv_bfloat162*>(row + head * head_stride + half + pair);
    const float2 a = __bfloat1622float2(*low), b = __bfloat1622float2(*high);
    const float c0 = angles[pair], c1 = angles[pair + 1];
    const float s0 = angles[half + pair], s1 = angles[half + pair + 1];
    *low = __floats2bfloat162_rn(a.x * c0 - b.x * s0, a.y * c1 - b.y * s1);
    *high = __floats2bfloat162_rn(b.x * c0 + a.x * s0, b.y * c1 + a.y * s1);
  }
}

__global__ void copy_kernel(const bf16* x, std::int64_t x_stride, bf16* out,
                            std::int64_t out_stride, std::int64_t count, int row_words) {
  const std::int64_t at = thread_index();
  if (at >= count) return;
  const std::int64_t row = at / row_words, word = at % row_words;
  words(out + row * out_stride)[word] = words(x + row * x_stride)[word];
}

__device__ __forceinline__ float apply(float x, Activation activation) {
  switch (activation) {
  case Activation::gelu: // the tanh form
    return 0.5F * x * (1.0F + tanhf(0.7978845608F * (x + 0.044715F * x * x * x)));
  case Activation::relu2:
    return x > 0 ? x * x : 0.0F;
  default:
    return x / (1.0F + __expf(-x));
  }
}

__global__ void activate_kernel(const bf16* x, bf16* out, std::int64_t count, int row_words,
                                bool gated, Activation activation) {
  const std::int64_t at = thread_index();
  if (at >= count) return;
  const std::int64_t row = at / row_words, word = at % row_words;
  const Eight* in = words(x) + row * row_words * (gated ? 2 : 1) + word;
  float a[8], b[8];
  unpack(in[0], a);
  if (gated) unpack(in[row_words], b);
#pragma unroll
  for (int i = 0; i < 8; ++i)
    a[i] = apply(a[i], activation) * (gated ? b[i] : 1.0F);
  words(out)[at] = pack_eight(a);
}

__global__ void gather_kernel(const bf16* x, const std::int32_t* rows_of, bf16* out,
                              std::int64_t count, int row_words) {
  const std::int64_t at = thread_index();
  if (at >= count) return;
  words(out)[at] =
      words(x)[rows_of[at / row_words] * static_cast<std::int64_t>(row_words) + at % row_words];
}

__global__ void combine_kernel(const bf16* x, const std::int32_t* places, int per_token,
                               float weight, bf16* out, bool accumulate, std::int64_t count,
                               int row_words) {
  const std::int64_t at = thread_index();
  if (at >= count) return;
  const std::int64_t token = at / row_words, word = at % row_words;
  float sum[8] = {}, part[8];
  for (int j = 0; j < per_token; ++j) {
    unpack(words(x)[places[token * per_token + j] * static_cast<std::int64_t>(row_words) + word],
           part);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sum[i] += weight * part[i];
  }
  if (accumulate) {
    unpack(words(out)[at], part);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sum[i] += part[i];
  }
  words(out)[at] = pack_eight(sum);
}

__global__ void assemble_kernel(const bf16* made, std::int64_t made_stride, std::int64_t made_head,
                                const bf16* rope_key, std::int64_t rope_stride, bf16* k,
                                std::int64_t count, int heads, int nope_words, int rope_words) {
  const std::int64_t at = thread_index();
  if (at >= count) return;
  const int row_words = nope_words + rope_words;
  const auto word = static_cast<int>(at % row_words);
  const std::int64_t head = at / row_words % heads, token = at / row_words / heads;
  words(k)[at] = word < nope_words ? words(made + token * made_stride + head * made_head)[word]
                                   : words(rope_key + token * rope_stride)[word - nope_words];
}

__global__ void quantise_kernel(const bf16* x, std::int64_t x_stride, std::uint8_t* out,
                                const float* scale, std::int64_t count, int row_words) {
  const std::int64_t at = thread_index();
  if (at >= count) return;
  float a[8];
  unpack(words(x + at / row_words * x_stride)[at % row_words], a);
  const float factor = 1.0F / *scale;
  std::uint64_t bytes = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    bytes |=
        static_cast<std::uint64_t>(__nv_cvt_float_to_fp8(a[i] * factor, __NV_SATFINITE, __NV_E4M3))
        << (8 * i);
  reinterpret_cast<std::uint64_t*>(out)[at] = bytes;
}

const bf16* in(const void* x) {
  return static_cast<const bf16*>(x);
}
bf16* to(void* x) {
  return static_cast<bf16*>(x);
}

} // namespace

void embed(void* hidden, const void* table, std::int64_t table_rows, std::int64_t tokens,
           std::int64_t width, std::uint64_t seed, cudaStream_t stream) {
  launch(embed_kernel, row_blocks(tokens, width, stream), to(hidden), in(table),
         static_cast<std::uint64_t>(table_rows), static_cast<int>(width), seed);
}

void rope_table(float* table, std::int64_t first, std::int64_t tokens, std::int64_t dim,
                cudaStream_t stream) {
  launch(rope_table_kernel, word_threads(tokens * dim / 2, stream), table, first, tokens * dim / 2,
         static_cast<int>(dim / 2));
}

void rope(void* x, const float* table, std::int64_t tokens, std::int64_t heads, std::int64_t dim,
          std::int64_t head_stride, std::int64_t token_stride, cudaStream_t stream) {
  launch(rope_kernel, row_blocks(tokens, heads * dim * 2, stream), to(x), table,
         static_cast<int>(heads), static_cast<int>(dim / 2), head_stride, token_stride);
}

void copy_rows(const void* x, std::int64_t x_stride, void* out, std::int64_t out_stride,
               std::int64_t rows, std::int64_t width, cudaStream_t stream) {
  launch(copy_kernel, word_threads(rows * width / 8, stream), in(x), x_stride, to(out), out_stride,
         rows * width / 8, static_cast<int>(width / 8));
}

void activate(const void* x, void* out, std::int64_t rows, std::int64_t width, bool gated,
              Activation activation, cudaStream_t stream) {
  launch(activate_kernel, word_threads(rows * width / 8, stream), in(x), to(out), rows * width / 8,
         static_cast<int>(width / 8), gated, activation);
}

void gather_rows(const void* x, const std::int32_t* rows_of, void* out, std::int64_t rows,
                 std::int64_t width, cudaStream_t stream) {
  launch(gather_kernel, word_threads(rows * width / 8, stream), in(x), rows_of, to(out),
         rows * width / 8, static_cast<int>(width / 8));
}

void combine_rows(const void* x, const std::int32_t* places, std::int64_t per_token, float weight,
                  void* out, bool accumulate, std::int64_t tokens, std::int64_t width,
                  cudaStream_t stream) {
  launch(combine_kernel, word_threads(tokens * width / 8, stream), in(x), places,
         static_cast<int>(per_token), weight, to(out), accumulate, tokens * width / 8,
         static_cast<int>(width / 8));
}

void assemble_keys(const void* made, std::int64_t made_stride, std::int64_t made_head,
                   const void* rope_key, std::int64_t rope_stride, void* k, std::int64_t tokens,
                   std::int64_t heads, std::int64_t nope, std::int64_t rope_dim,
                   cudaStream_t stream) {
  const std::int64_t count = tokens * heads * (nope + rope_dim) / 8;
  launch(assemble_kernel, word_threads(count, stream), in(made), made_stride, made_head,
         in(rope_key), rope_stride, to(k), count, static_cast<int>(heads),
         static_cast<int>(nope / 8), static_cast<int>(rope_dim / 8));
}

void quantise(const void* x, std::int64_t x_stride, void* out, const float* scale,
              std::int64_t rows, std::int64_t width, cudaStream_t stream) {
  launch(quantise_kernel, word_threads(rows * width / 8, stream), in(x), x_stride,
         static_cast<std::uint8_t*>(out), scale, rows * width / 8, static_cast<int>(width / 8));
}

} // namespace breakeven::cuda
