#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>
#include <string>

namespace breakeven::cuda {

/// Gated linear attention with a decay per head, the recurrence of Mamba-2, gated delta net and
/// lightning layers: see compute::make_scan_mixer for the formula and the columns.
struct ScanCall {
  const void* projected = nullptr;   ///< [tokens][total] bf16: q, k, v, z, decay, beta
  const void* convolution = nullptr; ///< [taps][convolved] bf16; null without a convolution
  void* convolved = nullptr;         ///< scratch [tokens][convolved] bf16
  const void* norm = nullptr;        ///< [head_dim] bf16
  void* out = nullptr;               ///< [tokens][heads][head_dim] bf16
  std::int64_t tokens = 0, total = 0, convolved_width = 0;
  int k_column = 0, v_column = 0, z_column = 0, decay_column = 0, beta_column = 0;
  int heads = 0, key_heads = 0, head_dim = 0, state_dim = 0, taps = 1;
  bool delta = false;
  cudaStream_t stream = nullptr;
};

/// Empty when the kernel takes these sizes on such a GPU, else what it does not take.
std::string scan_unsupported_reason(int head_dim, int state_dim,
                                    std::uint64_t shared_bytes_per_block);

/// Queues the convolution, the chunked scan on tensor cores (one block per head and 64 value
/// columns walks over chunks of 64 tokens), and the gated norm.
void scan(const ScanCall& call);

} // namespace breakeven::cuda
