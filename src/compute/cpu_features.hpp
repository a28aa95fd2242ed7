#pragma once

namespace breakeven::compute {

/// Instruction sets that this process may execute here: the CPU has them and the kernel saves
/// their registers. AMX counts only once the kernel has granted this process its tile registers.
struct CpuFeatures {
  bool avx2 = false;        ///< with FMA
  bool avx512 = false;      ///< F, BW, DQ, VL
  bool avx512_bf16 = false; ///< and avx512
  bool amx_bf16 = false;    ///< and avx512_bf16
};

/// Detected once per process.
const CpuFeatures& cpu_features();

} // namespace breakeven::compute
