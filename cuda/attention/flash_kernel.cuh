#pragma once

#include "cuda/attention/flash_attention.hpp"
#include "cuda/attention/mma.cuh"

// Flash attention (Dao 2023, arXiv 2307.08691): one block per tile of queries and head walks over
// tiles of keys with an online softmax. While scores of one tile are computed, its values arrive
// (cp.async); while values are applied, the next tile's keys arrive.

namespace breakeven::cuda {

struct FlashParameters {
  AttentionCall call;
  float scale_log2;
  int splits;
  float* partial;  ///< [split][query][head][v_dim] unnormalised outputs, null without splits
  float2* softmax; ///< [split][query][head] max and sum
};

template <int QK, int V, int WarpRows, int Keys>
struct FlashKernel {
  static constexpr int warps = 4;
  static constexpr int threads = warps * 32;
  static constexpr int rows = warps * WarpRows;
  static constexpr int row_tiles = WarpRows / 16; ///< m16 tiles of a warp
  static constexpr int key_tiles = Keys / 8;      ///< n8 tiles of the scores
  static constexpr int out_tiles = V / 8;         ///< n8 tiles of the output
  static constexpr int shared_bytes = (rows * QK + Keys * (QK + V)) * 2;

  /// Rows [first, first + Rows) of a [limit][...] operand into swizzled shared memory; rows and
  /// words beyond the operand become zeros. Eight lanes move 128 bytes of a row, so that all
  /// addresses but two are immediates.
  template <int Rows, int Dim>
  static __device__ __forceinline__ void load_tile(std::uint32_t shared, const bf16* source,
                                                   std::int64_t stride, int first, int limit,
                                                   int dim) {
    constexpr int rows_at_once = threads / 8;
    const int thread = fresh_thread();
    const int row = thread / 8, word = thread % 8;
    const std::uint32_t to = shared + tile_offset(Dim * 2, row, word);
    const bf16* from = source + (first + row) * stride + word * 8;
#pragma unroll
    for (int i = 0; i < Rows / rows_at_once; ++i) {
      const bool inside = first + row + i * rows_at_once < limit;
#pragma unroll
      for (int panel = 0; panel < Dim / 64; ++panel) {
        const bool valid = inside && (panel * 8 + word) * 8 < dim;
        // An invalid copy reads nothing, wherever its address points.
        copy_async(to + i * rows_at_once * Dim * 2 + panel * 128, from + panel * 64, valid);
      }
      from += rows_at_once * stride;
    }
  }

  /// s = q k^T of this warp's rows.
  static __device__ __forceinline__ void scores(float (&s)[row_tiles][key_tiles][4],
                                                std::uint32_t q_lane, std::uint32_t k_lane) {
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int n = 0; n < key_tiles; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          s[m][n][e] = 0;
#pragma unroll
    for (int step = 0; step < QK / 16; ++step) {
      std::uint32_t a[row_tiles][4];
#pragma unroll
      for (int m = 0; m < row_tiles; ++m)
        load_matrices(a[m], advanced(q_lane, step * 2) + m * 16 * QK * 2);
#pragma unroll
      for (int n = 0; n < key_tiles / 2; ++n) {
        std::uint32_t b[4];
        load_matrices(b, advanced(k_lane, step * 2) + n * 16 * QK * 2);
#pragma unroll
        for (int m = 0; m < row_tiles; ++m) {
          multiply(s[m][n * 2], a[m], b[0], b[1]);
          multiply(s[m][n * 2 + 1], a[m], b[2], b[3]);
        }
      }
    }
  }

  /// o += p v, p rounded to bf16 as it is used.
  static __device__ __forceinline__ void weighted_sum(float (&o)[row_tiles][out_tiles][4],
                                                      const float (&p)[row_tiles][key_tiles][4],
                                                      std::uint32_t v_lane) {
#pragma unroll
    for (int step = 0; step < Keys / 16; ++step) {
      std::uint32_t a[row_tiles][4];
#pragma unroll
      for (int m = 0; m < row_tiles; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float(&c)[4] = p[m][step * 2 + half];
          a[m][half * 2] = pack(c[0], c[1]);
          a[m][half * 2 + 1] = pack(c[2], c[3]);
        }
#pragma unroll
      for (int n = 0; n < out_tiles / 2; ++n) {
        std::uint32_t b[4];
        load_matrices_transposed(b, advanced(v_lane, n * 2) + step * 16 * V * 2);
#pragma unroll
        for (int m = 0; m < row_tiles; ++m) {
          multiply(o[m][n * 2], a[m], b[0], b[1]);
          multiply(o[m][n * 2 + 1], a[m], b[2], b[3]);
        }
      }
    }
  }

  /// Scores that a query must not see become -infinity.
  static __device__ __forceinline__ void apply_mask(float (&s)[row_tiles][key_tiles][4],
                                                    const MaskShape& mask, int first_query,
                                                    int first_tile_key) {
    const int thread = fresh_thread();
    const int first_row = first_query + thread / 32 * WarpRows + thread % 32 / 4;
    const int first_column = first_tile_key + thread % 4 * 2;
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int position = mask.context + first_row + m * 16 + half * 8;
        const int first = first_key(mask, position);
#pragma unroll
        for (int n = 0; n < key_tiles; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const int key = first_column + n * 8 + e;
            if (key > position || key < first) s[m][n][half * 2 + e] = -INFINITY;
          }
      }
  }

  /// Scores become weights; sums and outputs of earlier tiles are brought to the new maximum.
  static __device__ __forceinline__ void softmax(float (&s)[row_tiles][key_tiles][4],
                                                 float (&o)[row_tiles][out_tiles][4],
                                                 SoftmaxRow (&state)[row_tiles][2],
                                                 float scale_log2) {
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float top = s[m][0][half * 2];
#pragma unroll
        for (int n = 0; n < key_tiles; ++n)
          top = fmaxf(top, fmaxf(s[m][n][half * 2], s[m][n][half * 2 + 1]));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffU, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffU, top, 2));
        const float factor = raise_max(state[m][half], top, scale_log2);
#pragma unroll
        for (int n = 0; n < out_tiles; ++n) {
          o[m][n][half * 2] *= factor;
          o[m][n][half * 2 + 1] *= factor;
        }
        const float bias = exponent_bias(state[m][half], scale_log2);
        float sum = 0; // of this thread's columns; lanes are added at the end
#pragma unroll
        for (int n = 0; n < key_tiles; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& x = s[m][n][half * 2 + e];
            x = exp2_fast(fmaf(x, scale_log2, -bias));
            sum += x;
          }
        state[m][half].sum += sum;
      }
  }

  static __device__ __forceinline__ void store(const FlashParameters& p,
                                               const float (&o)[row_tiles][out_tiles][4],
                                               SoftmaxRow (&state)[row_tiles][2], int first_row,
                                               int head, int split, int lane) {
    const AttentionCall& call = p.call;
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float sum = state[m][half].sum;
        sum += __shfl_xor_sync(0xffffffffU, sum, 1);
        sum += __shfl_xor_sync(0xffffffffU, sum, 2);
        const int row = first_row + m * 16 + half * 8;
        if (row >= call.mask.queries) continue;
        const int column = lane % 4 * 2;
        if (p.splits == 1) {
          const float factor = normaliser(sum);
          bf16* out = static_cast<bf16*>(call.out) + row * call.out_token + head * call.out_head;
#pragma unroll
          for (int n = 0; n < out_tiles; ++n)
            if (n * 8 < call.v_dim)
              *reinterpret_cast<std::uint32_t*>(out + n * 8 + column) =
                  pack(o[m][n][half * 2] * factor, o[m][n][half * 2 + 1] * factor);
        } else {
          const std::int64_t at =
              (static_cast<std::int64_t>(split) * call.mask.queries + row) * call.heads + head;
          if (lane % 4 == 0) p.softmax[at] = make_float2(state[m][half].max, sum);
#pragma unroll
          for (int n = 0; n < out_tiles; ++n)
            if (n * 8 < call.v_dim)
              *reinterpret_cast<float2*>(p.partial + at * call.v_dim + n * 8 + column) =
                  make_float2(o[m][n][half * 2], o[m][n][half * 2 + 1]);
        }
      }
  }

  static __device__ __forceinline__ void run(const FlashParameters& p) {
    extern __shared__ __align__(128) unsigned char shared_words[];
    const AttentionCall& call = p.call;
    const MaskShape mask = call.mask;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int head = static_cast<int>(blockIdx.y), split = static_cast<int>(blockIdx.z);
    const int kv_head = head / (call.heads / call.kv_heads);
    // The last tiles see most keys: they go first.
    const int first_query = static_cast<int>(gridDim.x - 1 - blockIdx.x) * rows;
    const int keys = mask.context + mask.queries;
    const std::uint32_t q_shared = shared_address(shared_words);
    const std::uint32_t k_shared = q_shared + rows * QK * 2;
    const std::uint32_t v_shared = k_shared + Keys * QK * 2;
    const LanePlace a = place_a(lane), b = place_b(lane);
    const std::uint32_t q_lane = q_shared + tile_offset(QK * 2, warp * WarpRows + a.row, a.word);
    const std::uint32_t k_lane = k_shared + tile_offset(QK * 2, b.row, b.word);
    const std::uint32_t v_lane = v_shared + tile_offset(V * 2, a.row, a.word);
    const bf16* q = static_cast<const bf16*>(call.q) + head * call.q_head;
    const bf16* k = static_cast<const bf16*>(call.k) + kv_head * call.k_head;
    const bf16* v = static_cast<const bf16*>(call.v) + kv_head * call.v_head;

    float o[row_tiles][out_tiles][4];
    SoftmaxRow state[row_tiles][2];
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int n = 0; n < out_tiles; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          o[m][n][e] = 0;

    const TileRange range = split_of(tiles_for(mask, first_query, rows, Keys), split, p.splits);
    if (range.begin < range.end) {
      load_tile<rows, QK>(q_shared, q, call.q_token, first_query, mask.queries, call.qk_dim);
      load_tile<Keys, QK>(k_shared, k, call.k_token, range.begin * Keys, keys, call.qk_dim);
      commit_copies();
    }
    for (int tile = range.begin; tile < range.end; ++tile) {
      const int first = tile * Keys;
      wait_copies();
      __syncthreads(); // keys have arrived, and all warps are done with the values before
      load_tile<Keys, V>(v_shared, v, call.v_token, first, keys, call.v_dim);
      commit_copies();
      float s[row_tiles][key_tiles][4];
      scores(s, q_lane, k_lane);
      if (needs_mask(mask, first_query, rows, first, Keys)) apply_mask(s, mask, first_query, first);
      softmax(s, o, state, p.scale_log2);
      wait_copies();
      __syncthreads(); // values have arrived, and all warps are done with the keys
      if (tile + 1 < range.end)
        load_tile<Keys, QK>(k_shared, k, call.k_token, first + Keys, keys, call.qk_dim);
      commit_copies();
      weighted_sum(o, s, v_lane);
    }
    store(p, o, state, first_query + warp * WarpRows + lane / 4, head, split, lane);
  }
};

template <int QK, int V, int WarpRows, int Keys>
__global__ void __launch_bounds__(128)
    flash_kernel(const __grid_constant__ FlashParameters parameters) {
  FlashKernel<QK, V, WarpRows, Keys>::run(parameters);
}

} // namespace breakeven::cuda
