#pragma once

#include "cuda/attention/tile_math.hpp"

#include <cstdint>
#include <cuda_runtime_api.h>
#include <string>

namespace breakeven::cuda {

/// bf16 attention of one sequence. Addresses are of element (token 0, head 0); strides in elements;
/// rows of a head are contiguous. Head sizes are multiples of 8; addresses and strides of 16 bytes.
struct AttentionCall {
  const void* q = nullptr; ///< [queries][heads][qk_dim]
  const void* k = nullptr; ///< [context + queries][kv_heads][qk_dim]
  const void* v = nullptr; ///< [context + queries][kv_heads][v_dim]
  void* out = nullptr;     ///< [queries][heads][v_dim]
  std::int64_t q_token = 0, q_head = 0, k_token = 0, k_head = 0, v_token = 0, v_head = 0;
  std::int64_t out_token = 0, out_head = 0;
  int heads = 0, kv_heads = 0, qk_dim = 0, v_dim = 0;
  float scale = 1; ///< of scores, before the softmax
  MaskShape mask;
  cudaStream_t stream = nullptr;
};

/// Sizes of one kernel instance: heads up to qk x v, tiles of `rows` queries by `keys` keys.
struct FlashInstance {
  int qk = 0, v = 0, rows = 0, keys = 0;
};

/// The smallest instance that takes these head sizes; qk == 0 when there is none.
FlashInstance flash_instance(int qk_dim, int v_dim);

/// How many parts the keys of every query tile are split into, so that few queries still fill the
/// device: 1 when the tiles alone do.
int flash_splits(const AttentionCall& call, int multiprocessors);

/// Bytes of device memory that flash_attention() needs beside its operands; 0 without splits.
std::uint64_t flash_workspace_bytes(const AttentionCall& call, int splits);

/// Queues the built-in flash-attention kernel. `workspace`: see flash_workspace_bytes(). Throws
/// error::environment for head sizes without an instance and when the launch is refused.
void flash_attention(const AttentionCall& call, int splits, void* workspace);

} // namespace breakeven::cuda
