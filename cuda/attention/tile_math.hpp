#pragma once

// The index, mask and softmax arithmetic of the attention kernel, for both sides of the compiler:
// tests run it on the CPU against a double-precision reference.

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define BREAKEVEN_HD __host__ __device__ __forceinline__
#else
#define BREAKEVEN_HD inline
#endif

namespace breakeven::cuda {

/// Which keys a query sees. Positions count from the first key that is held.
struct MaskShape {
  int context = 0; ///< keys before the first query; bottom-right causal
  int queries = 0; ///< keys in all: context + queries
  int window = 0;  ///< 0: every earlier key; else the last `window`, itself included, or
  int chunked = 0; ///< != 0: those of its own aligned chunk of `window`
};

/// First key that the query at `position` sees.
BREAKEVEN_HD int first_key(const MaskShape& mask, int position) {
  if (mask.window == 0) return 0;
  if (mask.chunked != 0) return position / mask.window * mask.window;
  return position - mask.window + 1 > 0 ? position - mask.window + 1 : 0;
}

BREAKEVEN_HD bool sees(const MaskShape& mask, int query, int key) {
  const int position = mask.context + query;
  return key <= position && key >= first_key(mask, position);
}

/// Tiles [begin, end) of `tile_keys` keys that the queries [first, first + rows) need.
struct TileRange {
  int begin = 0, end = 0;
};

BREAKEVEN_HD TileRange tiles_for(const MaskShape& mask, int first_query, int rows, int tile_keys) {
  const int last = first_query + rows < mask.queries ? first_query + rows : mask.queries;
  TileRange range;
  range.begin = first_key(mask, mask.context + first_query) / tile_keys;
  range.end = (mask.context + last + tile_keys - 1) / tile_keys;
  return range;
}

/// The part of a range that split `index` of `count` computes; parts differ by one tile at most.
BREAKEVEN_HD TileRange split_of(TileRange whole, int index, int count) {
  const int tiles = whole.end - whole.begin;
  TileRange part;
  part.begin = whole.begin + static_cast<int>(static_cast<std::int64_t>(tiles) * index / count);
  part.end = whole.begin + static_cast<int>(static_cast<std::int64_t>(tiles) * (index + 1) / count);
  return part;
}

/// True when some query of the tile must not see some key of it: only then is the mask applied.
BREAKEVEN_HD bool needs_mask(const MaskShape& mask, int first_query, int rows, int first_tile_key,
                             int tile_keys) {
  const int last =
      first_query + rows - 1 < mask.queries - 1 ? first_query + rows - 1 : mask.queries - 1;
  return first_tile_key + tile_keys - 1 > mask.context + first_query ||
         first_key(mask, mask.context + last) > first_tile_key;
}

/// Where the 16-byte word `word` of row `row` of a tile lies, in words from the row's start: rows
/// are spread over all banks, so that ldmatrix reads eight rows without conflict.
BREAKEVEN_HD int swizzled(int row, int word) {
  return word ^ (row & 7);
}

/// Byte offset, in a tile of rows of `row_bytes` (a multiple of 128), of what a lane reads first.
BREAKEVEN_HD std::uint32_t tile_offset(int row_bytes, int row, int word) {
  return static_cast<std::uint32_t>(row * row_bytes + swizzled(row, word) * 16);
}

/// The address `words` (even) 16-byte words further on in the same row: words of one panel of 128
/// bytes differ by an exclusive or of bits 4 to 6. Tiles are aligned to 128 bytes.
BREAKEVEN_HD std::uint32_t advanced(std::uint32_t address, int words) {
  return (address ^ static_cast<std::uint32_t>(words % 8 * 16)) +
         static_cast<std::uint32_t>(words / 8 * 128);
}

/// Row and word of a 16 x 16 block whose address a lane gives to ldmatrix.x4, so that the four
/// registers are in the order that mma.m16n8k16 wants (PTX ISA, matrix fragments).
struct LanePlace {
  int row = 0, word = 0;
};
/// Operand A, and, read transposed, operand B from [k][n] rows.
BREAKEVEN_HD LanePlace place_a(int lane) {
  return {lane % 16, lane / 16};
}
/// Operand B from [n][k] rows: two n8 tiles of k16.
BREAKEVEN_HD LanePlace place_b(int lane) {
  return {lane % 8 + lane / 16 * 8, lane / 8 % 2};
}

/// Online softmax of one row, in base 2: the sum so far is of 2^((x - max) * scale_log2).
struct SoftmaxRow {
  float max = -INFINITY;
  float sum = 0;
};

/// Takes the maximum of a further tile in. Returns what earlier sums and outputs are to be
/// multiplied by: 1 where nothing changes, 0 where nothing was seen before.
BREAKEVEN_HD float raise_max(SoftmaxRow& row, float tile_max, float scale_log2) {
  if (!(tile_max > row.max)) return 1.0F;
  const float factor = row.max == -INFINITY ? 0.0F : exp2f((row.max - tile_max) * scale_log2);
  row.max = tile_max;
  row.sum *= factor;
  return factor;
}

/// Bias of exp2(score * scale_log2 - bias): finite for rows that have seen no key.
BREAKEVEN_HD float exponent_bias(const SoftmaxRow& row, float scale_log2) {
  return row.max == -INFINITY ? 0.0F : row.max * scale_log2;
}

/// 1 / sum; 0 for a row that saw no key.
BREAKEVEN_HD float normaliser(float sum) {
  return sum > 0.0F ? 1.0F / sum : 0.0F;
}

} // namespace breakeven::cuda
