#pragma once

#include "compute/kernels.hpp"

/// The tables of the kernels_*.cpp files. A table may be called only where its instructions exist.
namespace breakeven::compute {

extern const Kernels baseline_fp32_kernels;
#if defined(__x86_64__)
extern const Kernels avx2_fp32_kernels;
extern const Kernels avx512_fp32_kernels;
extern const Kernels avx512_bf16_kernels;
extern const Kernels amx_bf16_kernels;
/// The AMX loops on tiles emulated in memory: correct anywhere AVX512-BF16 is, and very slow.
extern const Kernels emulated_amx_bf16_kernels;
#endif

} // namespace breakeven::compute
