#pragma once

#include "cuda/kernels/launch.hpp"

#include <algorithm>
#include <cstdint>
#include <cuda_bf16.h>

namespace breakeven::cuda {

using bf16 = __nv_bfloat16;

/// Eight bf16 values in one 16-byte word.
struct alignas(16) Eight {
  __nv_bfloat162 pair[4];
};

__device__ __forceinline__ void unpack(const Eight& word, float (&x)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 both = __bfloat1622float2(word.pair[i]);
    x[2 * i] = both.x;
    x[2 * i + 1] = both.y;
  }
}

__device__ __forceinline__ Eight pack_eight(const float (&x)[8]) {
  Eight word;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    word.pair[i] = __floats2bfloat162_rn(x[2 * i], x[2 * i + 1]);
  return word;
}

__device__ __forceinline__ const Eight* words(const bf16* row) {
  return reinterpret_cast<const Eight*>(row);
}
__device__ __forceinline__ Eight* words(bf16* row) {
  return reinterpret_cast<Eight*>(row);
}

/// The sum over the block, for every thread. At most 1024 threads, whole warps.
__device__ __forceinline__ float block_sum(float x) {
  __shared__ float parts[32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    x += __shfl_xor_sync(0xffffffffU, x, step);
  if (lane == 0) parts[warp] = x;
  __syncthreads();
  x = lane < static_cast<int>(blockDim.x) / 32 ? parts[lane] : 0.0F;
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    x += __shfl_xor_sync(0xffffffffU, x, step);
  __syncthreads();
  return x;
}

/// One block per row, as many threads as the row has words, in whole warps.
inline LaunchShape row_blocks(std::int64_t rows, std::int64_t width, cudaStream_t stream) {
  const auto threads =
      static_cast<unsigned>(std::clamp<std::int64_t>((width / 8 + 31) / 32 * 32, 32, 512));
  return {dim3(static_cast<unsigned>(rows)), dim3(threads), 0, stream};
}

/// One thread per 16-byte word of all rows.
inline LaunchShape word_threads(std::int64_t count, cudaStream_t stream) {
  return {dim3(static_cast<unsigned>((count + 255) / 256)), dim3(256), 0, stream};
}

__device__ __forceinline__ std::int64_t thread_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

} // namespace breakeven::cuda
