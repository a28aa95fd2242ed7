// bf16 attention on 32x32 blocks of AMX tiles, written over a `Tiles` policy so that the same loops
// also run on tiles emulated in memory. Softmax is that of kernels_avx512_bf16.inl.
//
// Tiles holds one 32 x 32 fp32 block of sums:
//   configure(), release()   around a whole attention tile, on the calling thread
//   zero(), load(c, stride), store(c, stride)
//   step(a, a_stride, b, b_stride): sums += a[32][32] * b[16][32][2], both bf16
// Strides are in bytes.

#pragma once

#include "compute/kernels_avx512_bf16.inl"

namespace breakeven::compute {
namespace {

/// Keeps the compiler from moving ordinary loads and stores across tile instructions, whose
/// intrinsics do not say that they touch memory.
inline void order_memory() {
  __asm__ volatile("" ::: "memory");
}

template <class Tiles>
void scores_tiled(const AttentionTile& t, std::int64_t first_key, std::int64_t keys) {
  const auto* q = static_cast<const bfloat*>(t.q);
  constexpr std::int64_t k_row_bytes = page_tokens * 4;
  order_memory();
  for (std::int64_t key = 0; key < keys; key += page_tokens) {
    const std::byte* page = t.k + (first_key + key) / page_tokens * t.k_page_bytes;
    for (std::int64_t r = 0; r < t.rows; r += 32) {
      Tiles::zero();
      for (std::int64_t d = 0; d < t.qk_padded; d += 32)
        Tiles::step(q + r * t.qk_padded + d, t.qk_padded * 2, page + d / 2 * k_row_bytes,
                    k_row_bytes);
      Tiles::store(t.scores + r * key_block + key, key_block * 4);
    }
  }
  order_memory();
}

template <class Tiles>
void accumulate_tiled(const AttentionTile& t, std::int64_t first_key, std::int64_t keys) {
  const auto* p = static_cast<const bfloat*>(t.probabilities);
  for (std::int64_t r = 0; r < t.rows; ++r) {
    if (t.row_scale[r] == 1.0F) continue;
    float* row = t.accumulator + r * t.v_padded;
    for (std::int64_t i = 0; i < t.v_padded; ++i)
      row[i] *= t.row_scale[r];
  }
  order_memory();
  for (std::int64_t column = 0; column < t.v_padded; column += 32)
    for (std::int64_t r = 0; r < t.rows; r += 32) {
      float* sums = t.accumulator + r * t.v_padded + column;
      Tiles::load(sums, t.v_padded * 4);
      for (std::int64_t key = 0; key < keys; key += page_tokens)
        Tiles::step(p + r * key_block + key, key_block * 2,
                    t.v + (first_key + key) / page_tokens * t.v_page_bytes + column * 4,
                    t.v_padded * 4);
      Tiles::store(sums, t.v_padded * 4);
    }
  order_memory();
}

template <class Tiles>
void attend_tiled(const AttentionTile& t) {
  Tiles::configure();
  attend_blocks<bfloat, scores_tiled<Tiles>, softmax_bf16, accumulate_tiled<Tiles>>(t);
  Tiles::release();
}

} // namespace
} // namespace breakeven::compute
