#include "compute/attention.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <omp.h>

namespace breakeven::compute {
namespace {

std::uint64_t align64(std::uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// Tile rows [first, first + rows) of one KV head; row = query * group + head within the group.
struct TileRows {
  std::int64_t kv_head, first, rows;
};

double run_tile(const AttentionCall& call, const TileRows& part, AttentionTile& tile, void* q) {
  const AttentionShape& shape = *call.shape;
  const std::int64_t group = shape.heads / shape.kv_heads;
  const std::int64_t element_bytes = bytes_of(call.kernels->element);
  const std::int64_t row_bytes = tile.qk_padded * element_bytes;
  std::array<std::int64_t, max_tile_rows> begin, end;
  std::array<void*, max_tile_rows> out;
  const auto* queries = static_cast<const std::byte*>(call.q);
  double pairs = 0;
  for (std::int64_t r = 0; r < part.rows; ++r) {
    const std::int64_t query = (part.first + r) / group;
    const std::int64_t head = part.kv_head * group + (part.first + r) % group;
    const KeyRange keys = visible_keys(shape, call.context + query);
    const auto row = static_cast<std::size_t>(r);
    begin[row] = keys.begin;
    end[row] = keys.end;
    pairs += static_cast<double>(keys.end - keys.begin);
    std::byte* target = static_cast<std::byte*>(q) + r * row_bytes;
    std::memcpy(target, queries + (query * call.q_stride + head * shape.qk_dim) * element_bytes,
                static_cast<std::size_t>(shape.qk_dim * element_bytes));
    out[row] = static_cast<std::byte*>(call.out) +
               (query * call.out_stride + head * shape.v_dim) * element_bytes;
  }
  tile.rows = part.rows;
  tile.k = call.cache->k_head(part.kv_head);
  tile.v = call.cache->v_head(part.kv_head);
  tile.key_begin = begin.data();
  tile.key_end = end.data();
  tile.out = out.data();
  call.kernels->attend(tile);
  return pairs;
}

} // namespace

KeyRange visible_keys(const AttentionShape& shape, std::int64_t position) {
  if (shape.window_tokens <= 0) return {0, position + 1};
  if (shape.chunked) return {position / shape.window_tokens * shape.window_tokens, position + 1};
  return {std::max<std::int64_t>(0, position + 1 - shape.window_tokens), position + 1};
}

std::int64_t held_context(const AttentionShape& shape, std::int64_t context) {
  if (shape.window_tokens <= 0) return context;
  // Dropping whole pages keeps the alignment of the rest.
  if (shape.chunked) return context % shape.window_tokens;
  return std::min(context, shape.window_tokens);
}

double visible_pairs(const AttentionShape& shape, std::int64_t context, std::int64_t new_tokens) {
  double pairs = 0;
  for (std::int64_t i = 0; i < new_tokens; ++i) {
    const KeyRange keys = visible_keys(shape, context + i);
    pairs += static_cast<double>(keys.end - keys.begin);
  }
  return pairs;
}

AttentionScratch::AttentionScratch(Element element, std::int64_t qk_dim, std::int64_t v_dim,
                                   int threads)
    : m_q_bytes(align64(
          static_cast<std::uint64_t>(max_tile_rows * KvCache::padded(qk_dim) * bytes_of(element)))),
      m_probability_bytes(
          static_cast<std::uint64_t>(max_tile_rows * key_block * bytes_of(element))),
      m_accumulator_bytes(static_cast<std::uint64_t>(max_tile_rows * KvCache::padded(v_dim) * 4)),
      m_thread_bytes(bytes(element, qk_dim, v_dim, 1)),
      m_memory(m_thread_bytes * static_cast<std::uint64_t>(threads)) {}

std::uint64_t AttentionScratch::bytes(Element element, std::int64_t qk_dim, std::int64_t v_dim,
                                      int threads) {
  const std::int64_t one =
      max_tile_rows * (KvCache::padded(qk_dim) * bytes_of(element) +
                       key_block * (4 + bytes_of(element)) + KvCache::padded(v_dim) * 4 + 3 * 4);
  const std::uint64_t page = 4096; // threads must not share a page: first touch places it
  return (align64(static_cast<std::uint64_t>(one)) + page - 1) / page * page *
         static_cast<std::uint64_t>(threads);
}

void AttentionScratch::attach(int thread, AttentionTile& tile, void*& q) const {
  std::byte* p = m_memory.data() + m_thread_bytes * static_cast<std::uint64_t>(thread);
  q = p;
  tile.q = p;
  p += m_q_bytes;
  tile.scores = reinterpret_cast<float*>(p);
  p += max_tile_rows * key_block * 4;
  tile.probabilities = p;
  p += m_probability_bytes;
  tile.accumulator = reinterpret_cast<float*>(p);
  p += m_accumulator_bytes;
  tile.row_max = reinterpret_cast<float*>(p);
  tile.row_sum = tile.row_max + max_tile_rows;
  tile.row_scale = tile.row_sum + max_tile_rows;
}

std::int64_t tile_rows(const AttentionCall& call) {
  const AttentionShape& shape = *call.shape;
  const std::int64_t heads = call.kv_head_count > 0 ? call.kv_head_count : shape.kv_heads;
  const std::int64_t rows = call.new_tokens * (shape.heads / shape.kv_heads);
  // 96 rows fill the registers of the vector kernels, 128 the tiles of the matrix units; fewer
  // when there would be less than two tiles for each thread.
  const std::int64_t most = call.kernels->element == Element::bf16 ? 96 : 48;
  const std::int64_t share = rows * heads / (2 * std::max(call.threads, 1));
  return std::clamp<std::int64_t>((share + 5) / 6 * 6, 6, most);
}

std::int64_t tiles_per_head(const AttentionCall& call) {
  const std::int64_t rows = call.new_tokens * (call.shape->heads / call.shape->kv_heads);
  const std::int64_t per_tile = tile_rows(call);
  return (rows + per_tile - 1) / per_tile;
}

double attend(const AttentionCall& call) {
  const AttentionShape& shape = *call.shape;
  const std::int64_t heads = call.kv_head_count > 0 ? call.kv_head_count : shape.kv_heads;
  const std::int64_t rows = call.new_tokens * (shape.heads / shape.kv_heads);
  const std::int64_t per_tile = tile_rows(call), tiles = tiles_per_head(call);
  const std::int64_t step = std::max<std::int64_t>(call.tile_step, 1);
  const std::int64_t first = std::min((step - 1) / 2, tiles - 1); // the middle of each stride
  const std::int64_t run_tiles = (tiles - first + step - 1) / step;
  double pairs = 0;
#pragma omp parallel num_threads(call.threads) reduction(+ : pairs)
  {
    AttentionTile tile;
    void* q = nullptr;
    call.scratch->attach(omp_get_thread_num(), tile, q);
    tile.qk_padded = KvCache::padded(shape.qk_dim);
    tile.v_padded = KvCache::padded(shape.v_dim);
    tile.v_dim = shape.v_dim;
    tile.k_page_bytes = call.cache->k_page_bytes();
    tile.v_page_bytes = call.cache->v_page_bytes();
    tile.scale = shape.scale;
    // Padding columns and rows of the query tile stay zero from here on.
    std::memset(
        q, 0,
        static_cast<std::size_t>(max_tile_rows * tile.qk_padded * bytes_of(call.kernels->element)));
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t unit = 0; unit < heads * run_tiles; ++unit) {
      // The longest rows first, so that threads finish together.
      const std::int64_t index = first + (run_tiles - 1 - unit % run_tiles) * step;
      const std::int64_t kv_head = (call.first_kv_head + unit / run_tiles) % shape.kv_heads;
      const std::int64_t row = index * per_tile;
      pairs += run_tile(call, {kv_head, row, std::min(per_tile, rows - row)}, tile, q);
    }
  }
  return pairs;
}

} // namespace breakeven::compute
