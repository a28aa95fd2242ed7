#pragma once

#include "compute/buffer.hpp"
#include "compute/kernels.hpp"
#include "compute/kv_cache.hpp"
#include "model/architecture.hpp"

#include <cstdint>
#include <vector>

namespace breakeven::compute {

/// One attention layer as the kernels see it, in elements.
struct AttentionShape {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0; ///< divides heads
  std::int64_t qk_dim = 0;
  std::int64_t v_dim = 0;
  float scale = 1;
  std::int64_t window_tokens = 0; ///< 0: every earlier key
  bool chunked = false;           ///< window_tokens are aligned chunks, not a sliding window
};

/// The keys [begin, end) that the query at `position` sees, itself included.
struct KeyRange {
  std::int64_t begin = 0, end = 0;
};
KeyRange visible_keys(const AttentionShape& shape, std::int64_t position);

/// The context that a layer of this shape really holds when `context` tokens came before: keys
/// that no later query can see are dropped, so work and masks stay the same with a shorter cache.
std::int64_t held_context(const AttentionShape& shape, std::int64_t context);

/// Query-key pairs that one head scores: the work of attention.
double visible_pairs(const AttentionShape& shape, std::int64_t context, std::int64_t new_tokens);

/// Per-thread memory of the kernels. One per Compute: calls must not overlap.
class AttentionScratch {
public:
  AttentionScratch(Element element, std::int64_t qk_dim, std::int64_t v_dim, int threads);
  [[nodiscard]] static std::uint64_t bytes(Element element, std::int64_t qk_dim, std::int64_t v_dim,
                                           int threads);
  /// Points the tile's query and scratch fields at the memory of `thread`.
  void attach(int thread, AttentionTile& tile, void*& q) const;

private:
  std::uint64_t m_q_bytes, m_probability_bytes, m_accumulator_bytes, m_thread_bytes;
  Buffer m_memory;
};

/// Attention of queries [new_tokens][heads][qk_dim] over the cache, whose tokens [context, context
/// + new_tokens) must have been stored. Bottom-right causal: query i sees keys up to context + i.
struct AttentionCall {
  const Kernels* kernels = nullptr;
  const AttentionShape* shape = nullptr;
  const KvCache* cache = nullptr;
  const AttentionScratch* scratch = nullptr;
  std::int64_t context = 0;
  std::int64_t new_tokens = 0;
  const void* q = nullptr;
  std::int64_t q_stride = 0; ///< elements between tokens
  void* out = nullptr;       ///< [new_tokens][heads][v_dim]
  std::int64_t out_stride = 0;
  int threads = 1;

  // A sample of the work: KV heads [first, first + count), and of their tiles every `tile_step`-th.
  std::int64_t first_kv_head = 0;
  std::int64_t kv_head_count = 0; ///< 0: all
  std::int64_t tile_step = 1;
};

/// Runs the call; returns the query-key pairs that were scored, summed over heads.
double attend(const AttentionCall& call);

/// Rows of one tile, and tiles of one KV head, that attend() uses.
std::int64_t tile_rows(const AttentionCall& call);
std::int64_t tiles_per_head(const AttentionCall& call);

} // namespace breakeven::compute
