#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

// The parts of a layer that are bound by memory bandwidth. All bf16, computed in fp32; rows are
// tokens; row sizes in elements, multiples of 8, addresses of 16 bytes. Each queues one kernel and
// throws error::environment when the launch is refused.

namespace breakeven::cuda {

/// hidden[t] = table[token(t)], tokens drawn from `seed`.
void embed(void* hidden, const void* table, std::int64_t table_rows, std::int64_t tokens,
           std::int64_t width, std::uint64_t seed, cudaStream_t stream);

/// RMSNorm of rows: out = x / rms(x) * weight.
void rms_norm(const void* x, std::int64_t x_stride, const void* weight, void* out,
              std::int64_t out_stride, std::int64_t rows, std::int64_t width, cudaStream_t stream);

/// residual += delta, then RMSNorm of it into out: as engines fuse it.
void add_rms_norm(void* residual, const void* delta, const void* weight, void* out,
                  std::int64_t rows, std::int64_t width, cudaStream_t stream);

/// RMSNorm of each of `heads` heads of `dim` elements, in place; the row stride is `stride`.
void head_norm(void* x, const void* weight, std::int64_t tokens, std::int64_t heads,
               std::int64_t dim, std::int64_t stride, cudaStream_t stream);

/// cos and sin of the angles of positions [first, first + tokens): table[tokens][dim], dim / 2
/// cosines, then as many sines.
void rope_table(float* table, std::int64_t first, std::int64_t tokens, std::int64_t dim,
                cudaStream_t stream);

/// Rotates the pairs (i, i + dim / 2) of the first `dim` elements of each head, in place.
void rope(void* x, const float* table, std::int64_t tokens, std::int64_t heads, std::int64_t dim,
          std::int64_t head_stride, std::int64_t token_stride, cudaStream_t stream);

/// out[t] = x[t], rows of `width` elements with their own strides: KV write, copies of latents.
void copy_rows(const void* x, std::int64_t x_stride, void* out, std::int64_t out_stride,
               std::int64_t rows, std::int64_t width, cudaStream_t stream);

enum class Activation : int { silu, gelu, relu2 };
/// gated: out = act(x[0, width)) * x[width, 2 width); else out = act(x[0, width)).
void activate(const void* x, void* out, std::int64_t rows, std::int64_t width, bool gated,
              Activation activation, cudaStream_t stream);

/// out[r] = x[rows_of[r]].
void gather_rows(const void* x, const std::int32_t* rows_of, void* out, std::int64_t rows,
                 std::int64_t width, cudaStream_t stream);

/// out[t] (+)= weight * sum over j < per_token of x[places[t * per_token + j]].
void combine_rows(const void* x, const std::int32_t* places, std::int64_t per_token, float weight,
                  void* out, bool accumulate, std::int64_t tokens, std::int64_t width,
                  cudaStream_t stream);

/// k[t][h] = (made[t][h][0, nope), rope_key[t]): the keys of MLA from their expanded part and the
/// shared rotary part.
void assemble_keys(const void* made, std::int64_t made_stride, std::int64_t made_head,
                   const void* rope_key, std::int64_t rope_stride, void* k, std::int64_t tokens,
                   std::int64_t heads, std::int64_t nope, std::int64_t rope_dim,
                   cudaStream_t stream);

/// e4m3 of x / *scale, rows made dense.
void quantise(const void* x, std::int64_t x_stride, void* out, const float* scale,
              std::int64_t rows, std::int64_t width, cudaStream_t stream);

} // namespace breakeven::cuda
