#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace breakeven::cuda {

/// `count` bf16 values, uniform in (center - amplitude, center + amplitude); the values depend on
/// the seed only. Never zeros: power, and with it the clock, depends on the data.
void fill_random(void* data, std::uint64_t count, std::uint64_t seed, float amplitude,
                 cudaStream_t stream, float center = 0);

} // namespace breakeven::cuda
