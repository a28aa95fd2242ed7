#pragma once

#include "compute/kernels.hpp"
#include "model/architecture.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::compute {

/// How much of one kind of layers is kept in memory.
struct KindPlan {
  std::int64_t layers = 1;         ///< distinct layers with weights of their own
  std::int64_t kv_caches = 1;      ///< distinct K/V buffers, 0 where the kind does not attend
  std::int64_t kv_heads = 0;       ///< heads with storage of their own in each of them
  std::int64_t stored_experts = 0; ///< experts with weights of their own
};

struct MemoryPlan {
  std::vector<KindPlan> kinds;     ///< one per architecture.kinds
  std::int64_t head_rows = 0;      ///< rows of the LM head kept; the vocabulary when all
  std::int64_t embedding_rows = 0; ///< rows of a table of its own; 0 where the head serves
  std::uint64_t bytes = 0;         ///< of everything together
  std::vector<std::string> warnings;
};

struct MemoryRequest {
  std::int64_t max_context_tokens = 0;
  std::int64_t chunk_tokens = 0;
  std::int64_t measured_layers = 0; ///< 0: chosen here
  std::uint64_t limit_bytes = 0;    ///< never exceeded
  std::uint64_t last_level_cache_bytes = 0;
  Element element = Element::bf16;
  int threads = 1;
};

/// Decides what is kept so that the total stays within the limit: first fewer distinct layers,
/// then fewer K/V buffers, then heads that share storage, then experts that share weights, then a
/// part of the LM head. Each step that costs truth adds a warning. Throws error::environment when
/// even the least does not fit.
MemoryPlan plan_memory(const model::Architecture& architecture, const MemoryRequest& request);

} // namespace breakeven::compute
