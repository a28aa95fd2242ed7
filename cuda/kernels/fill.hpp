#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace breakeven::cuda {

/// `count` bf16 values, uniform in (center - amplitude, center + amplitude); the values depend on
/// the seed only. Never zeros: power, and with it the clock, depends on the data.
void fill_random(void* data, std::uint64_t count, std::uint64_t seed, float amplitude,
                 cudaStream_t stream, float center = 0);

/// `count` e4m3 values, uniform in (-1, 1).
void fill_random_fp8(void* data, std::uint64_t count, std::uint64_t seed, cudaStream_t stream);

/// At most 1024 equal values.
void fill_floats(float* data, int count, float value, cudaStream_t stream);

} // namespace breakeven::cuda
