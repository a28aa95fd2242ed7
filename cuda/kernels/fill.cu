#include "cuda/kernels/fill.hpp"

#include "cuda/kernels/launch.hpp"

#include <algorithm>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

namespace breakeven::cuda {
namespace {

__device__ std::uint64_t mix(std::uint64_t x) { // splitmix64
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

__global__ void fill_kernel(__nv_bfloat16* data, std::uint64_t count, std::uint64_t seed,
                            float amplitude, float center) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += step) {
    const auto bits = static_cast<std::uint32_t>(mix(seed ^ (i * 0xd1b54a32d192ed03U)) >> 40);
    const float unit = static_cast<float>(bits) * (2.0F / 16777216.0F) - 1.0F;
    data[i] = __float2bfloat16(center + unit * amplitude);
  }
}

__global__ void fill_fp8_kernel(std::uint8_t* data, std::uint64_t count, std::uint64_t seed) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += step) {
    const auto bits = static_cast<std::uint32_t>(mix(seed ^ (i * 0xd1b54a32d192ed03U)) >> 40);
    const float unit = static_cast<float>(bits) * (2.0F / 16777216.0F) - 1.0F;
    data[i] = __nv_cvt_float_to_fp8(unit, __NV_SATFINITE, __NV_E4M3);
  }
}

__global__ void fill_floats_kernel(float* data, int count, float value) {
  const auto i = static_cast<int>(threadIdx.x);
  if (i < count) data[i] = value;
}

} // namespace

void fill_random_fp8(void* data, std::uint64_t count, std::uint64_t seed, cudaStream_t stream) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>((count + 255) / 256, 8192));
  launch(fill_fp8_kernel, {dim3(blocks), dim3(256), 0, stream}, static_cast<std::uint8_t*>(data),
         count, seed);
}

void fill_floats(float* data, int count, float value, cudaStream_t stream) {
  launch(fill_floats_kernel, {dim3(1), dim3(1024), 0, stream}, data, count, value);
}

void fill_random(void* data, std::uint64_t count, std::uint64_t seed, float amplitude,
                 cudaStream_t stream, float center) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>((count + 255) / 256, 8192));
  launch(fill_kernel, {dim3(blocks), dim3(256), 0, stream}, static_cast<__nv_bfloat16*>(data),
         count, seed, amplitude, center);
}

} // namespace breakeven::cuda
