#include "compute/layer.hpp"
#include "cuda/compute/cuda_compute.hpp"
#include "cuda/kernels/fill.hpp"
#include "cuda/runtime/check.hpp"
#include "support/error.hpp"
#include "support/units.hpp"

#include <algorithm>

// What CudaCompute allocates: decided, then filled with random values.

namespace breakeven::cuda {
namespace {

constexpr std::int64_t least_layers = 4; ///< distinct ones of a kind, where memory allows

} // namespace

void CudaCompute::plan() {
  std::size_t free_bytes = 0, total = 0;
  check(calls().mem_get_info(&free_bytes, &total), "reading the free device memory");
  m_facts.memory_bytes = free_bytes;
  WorkspaceNeeds needs;
  for (const model::LayerKind& kind : m_architecture.kinds)
    needs.cover(workspace_needs(kind, m_architecture.hidden));
  // The planner knows the CPU's workspace: what is needed here beyond it is set aside, and half
  // of the rest is left to the KV buffer that tiers load into.
  const std::uint64_t aside =
      bf16_bytes(2 * needs.gathered + needs.intermediate + needs.activated + needs.widest_input,
                 m_options.chunk_tokens) +
      bf16_bytes(needs.expanded + needs.keys,
                 m_options.max_context_tokens + m_options.chunk_tokens);
  compute::MemoryRequest request;
  request.max_context_tokens = m_options.max_context_tokens;
  request.chunk_tokens = m_options.chunk_tokens;
  request.measured_layers =
      m_options.measured_layers > 0 ? m_options.measured_layers : least_layers;
  request.last_level_cache_bytes = m_device.l2_bytes;
  request.element = compute::Element::bf16;
  request.limit_bytes = free_bytes > aside ? (free_bytes - aside) / 10 * 6 : 1;
  if (m_options.memory_limit_bytes > 0)
    request.limit_bytes = std::min(request.limit_bytes, m_options.memory_limit_bytes);
  m_plan = compute::plan_memory(m_architecture, request);
  for (std::size_t i = 0; i < m_plan.kinds.size(); ++i) {
    const model::AttentionSpec& a = m_architecture.kinds[i].attention;
    if (a.kind != model::AttentionKind::none && a.kind != model::AttentionKind::mla &&
        m_plan.kinds[i].kv_heads < a.kv_heads)
      throw error(error_kind::environment,
                  "the KV cache of one layer of " + m_architecture.name + " for " +
                      format_tokens(m_options.max_context_tokens) + " tokens does not fit on " +
                      m_device.id + ": choose a shorter context, or free memory on the device");
  }
  for (const std::string& sentence : m_plan.warnings)
    if (m_options.measured_layers > 0 ||
        sentence.find("fewer distinct layers") == std::string::npos) // 4 are only a wish
      m_warnings.push_back(sentence);
}

void CudaCompute::build() {
  for (std::size_t i = 0; i < m_architecture.kinds.size(); ++i) {
    const model::LayerKind& spec = m_architecture.kinds[i];
    const compute::KindPlan& plan = m_plan.kinds[i];
    Kind kind;
    for (std::int64_t n = 0; n < plan.layers; ++n)
      kind.layers.push_back(std::make_unique<Layer>(
          m_runtime, spec, m_architecture.hidden, plan.stored_experts,
          m_options.seed * 1000003 + i * 100003 + static_cast<std::uint64_t>(n) * 1009));
    const compute::AttentionShape shape = compute::attention_shape(spec.attention);
    const std::int64_t held = shape.window_tokens > 0
                                  ? std::min(m_options.max_context_tokens, shape.window_tokens)
                                  : m_options.max_context_tokens;
    for (std::int64_t n = 0; n < plan.kv_caches; ++n)
      kind.caches.push_back(make_cache(m_runtime, spec, held + m_options.chunk_tokens,
                                       m_options.seed + 77 + static_cast<std::uint64_t>(n) * 8));
    m_kinds.push_back(std::move(kind));
  }
  Linear::Shape head{m_architecture.hidden, m_plan.head_rows};
  head.full_precision = true; // engines keep the LM head in 16 bits
  m_head = Linear(m_runtime, head, m_options.seed + 5);
  const std::int64_t rows = std::min<std::int64_t>(m_architecture.vocabulary.size, 16384);
  m_embedding = DeviceMemory(bf16_bytes(m_architecture.hidden, rows), "the embedding");
  fill_random(m_embedding.data(), m_embedding.size_bytes() / 2, m_options.seed + 6, 1.0F,
              m_stream.get());
  m_final_norm = random_norm(m_runtime, m_architecture.hidden, m_options.seed + 7);
  m_logits = DeviceMemory(bf16_bytes(m_plan.head_rows, 1), "logits");
}

void CudaCompute::build_workspace() {
  WorkspaceNeeds needs;
  std::uint64_t attention_bytes = 0;
  for (const model::LayerKind& kind : m_architecture.kinds) {
    const WorkspaceNeeds own = workspace_needs(kind, m_architecture.hidden);
    needs.cover(own);
    if (own.rope_dim > 0 && !m_workspace.rope.contains(own.rope_dim))
      m_workspace.rope[own.rope_dim] =
          DeviceMemory(2 * bf16_bytes(own.rope_dim, m_options.chunk_tokens), "rotation angles");
    // The largest need is at few queries: keys are split there.
    compute::AttentionShape shape = compute::attention_shape(kind.attention);
    if (kind.attention.kind == model::AttentionKind::mla)
      shape.heads = shape.kv_heads = latent_head_group(kind.attention);
    for (std::int64_t n = 1; shape.heads > 0 && n <= m_options.chunk_tokens; ++n)
      attention_bytes =
          std::max(attention_bytes, m_attention->workspace_bytes(attention_call(
                                        m_runtime, shape, {m_options.max_context_tokens, n})));
  }
  std::uint64_t seed = 900;
  const auto rows = [&](std::int64_t per_token, std::int64_t tokens) {
    DeviceMemory memory(bf16_bytes(per_token, tokens), "activations");
    fill_random(memory.data(), memory.size_bytes() / 2, ++seed, 1.0F, m_stream.get());
    return memory;
  };
  const std::int64_t tokens = m_options.chunk_tokens;
  const std::int64_t held = m_options.max_context_tokens + tokens;
  Workspace& w = m_workspace;
  w.hidden = rows(m_architecture.hidden, tokens);
  w.delta = rows(m_architecture.hidden, tokens);
  w.normed = rows(m_architecture.hidden, tokens);
  w.projected = rows(needs.projected, tokens);
  w.queries = rows(needs.queries, tokens);
  w.mixed = rows(needs.mixed, tokens);
  w.intermediate = rows(needs.intermediate, tokens);
  w.activated = rows(needs.activated, tokens);
  w.gathered = rows(needs.gathered, tokens);
  w.results = rows(needs.gathered, tokens);
  w.router = rows(needs.router, tokens);
  w.expanded = rows(needs.expanded, held);
  w.keys = rows(needs.keys, held);
  if (m_runtime.fp8) // MLA expands all held tokens at once
    w.quantised = DeviceMemory(
        std::max(bf16_bytes(needs.widest_input, tokens), bf16_bytes(needs.widest_latent, held)) / 2,
        "fp8 activations");
  w.attention = DeviceMemory(attention_bytes, "attention");
}

} // namespace breakeven::cuda
