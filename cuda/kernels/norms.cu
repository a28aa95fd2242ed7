#include "cuda/kernels/rows.cuh"
#include "cuda/kernels/rows.hpp"

namespace breakeven::cuda {
namespace {

constexpr float epsilon = 1e-5F;

/// Norm of one row that may first take `delta` in. Rows are read again for the second pass: they
/// are in cache by then.
template <bool Add>
__global__ void norm_kernel(bf16* x, std::int64_t x_stride, const bf16* delta, const bf16* weight,
                            bf16* out, std::int64_t out_stride, int width) {
  bf16* row = x + blockIdx.x * x_stride;
  const bf16* more = Add ? delta + static_cast<std::int64_t>(blockIdx.x) * width : nullptr;
  float squares = 0;
  for (int w = static_cast<int>(threadIdx.x); w < width / 8; w += static_cast<int>(blockDim.x)) {
    float a[8];
    unpack(words(row)[w], a);
    if constexpr (Add) {
      float b[8];
      unpack(words(more)[w], b);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        a[i] += b[i];
      words(row)[w] = pack_eight(a);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
      squares += a[i] * a[i];
  }
  const float scale = rsqrtf(block_sum(squares) / static_cast<float>(width) + epsilon);
  for (int w = static_cast<int>(threadIdx.x); w < width / 8; w += static_cast<int>(blockDim.x)) {
    float a[8], g[8];
    unpack(words(row)[w], a);
    unpack(words(weight)[w], g);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      a[i] *= scale * g[i];
    words(out + blockIdx.x * out_stride)[w] = pack_eight(a);
  }
}

/// One warp per head of a token.
__global__ void head_norm_kernel(bf16* x, const bf16* weight, std::int64_t count, int heads,
                                 int dim, std::int64_t stride) {
  const std::int64_t at = thread_index() / 32;
  if (at >= count) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  bf16* head = x + at / heads * stride + at % heads * dim;
  float squares = 0;
  for (int i = lane; i < dim; i += 32) {
    const float a = __bfloat162float(head[i]);
    squares += a * a;
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    squares += __shfl_xor_sync(0xffffffffU, squares, step);
  const float scale = rsqrtf(squares / static_cast<float>(dim) + epsilon);
  for (int i = lane; i < dim; i += 32)
    head[i] = __float2bfloat16(__bfloat162float(head[i]) * scale * __bfloat162float(weight[i]));
}

} // namespace

void rms_norm(const void* x, std::int64_t x_stride, const void* weight, void* out,
              std::int64_t out_stride, std::int64_t rows, std::int64_t width, cudaStream_t stream) {
  launch(norm_kernel<false>, row_blocks(rows, width, stream),
         const_cast<bf16*>(static_cast<const bf16*>(x)), x_stride, nullptr,
         static_cast<const bf16*>(weight), static_cast<bf16*>(out), out_stride,
         static_cast<int>(width));
}

void add_rms_norm(void* residual, const void* delta, const void* weight, void* out,
                  std::int64_t rows, std::int64_t width, cudaStream_t stream) {
  launch(norm_kernel<true>, row_blocks(rows, width, stream), static_cast<bf16*>(residual), width,
         static_cast<const bf16*>(delta), static_cast<const bf16*>(weight), static_cast<bf16*>(out),
         width, static_cast<int>(width));
}

void head_norm(void* x, const void* weight, std::int64_t tokens, std::int64_t heads,
               std::int64_t dim, std::int64_t stride, cudaStream_t stream) {
  launch(head_norm_kernel, word_threads(tokens * heads * 32, stream), static_cast<bf16*>(x),
         static_cast<const bf16*>(weight), tokens * heads, static_cast<int>(heads),
         static_cast<int>(dim), stride);
}

} // namespace breakeven::cuda
