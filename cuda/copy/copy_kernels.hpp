#pragma once

#include "cuda/copy/copy_work.hpp"

#include <cuda_runtime_api.h>

namespace breakeven::cuda {

/// How many multiprocessors a copy takes: those that read host memory need few, and leave the rest
/// to prefill; those within the device need all for its bandwidth.
enum class CopySpread { few, all };

/// Start a kernel that does the work; `units` as units_in() counts them (its tables may lie where
/// the host cannot read). Throw error::environment when the launch is refused.
void start_copy(const ItemsWork& work, std::uint64_t units, CopySpread spread, int multiprocessors,
                cudaStream_t stream);
void start_copy(const SlotsWork& work, std::uint64_t units, CopySpread spread, int multiprocessors,
                cudaStream_t stream);

/// Addresses of the kernels, for a table of CUDA calls that stands in for them.
const void* items_kernel_address();
const void* slots_kernel_address();

} // namespace breakeven::cuda
