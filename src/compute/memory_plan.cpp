#include "compute/memory_plan.hpp"

#include "compute/attention.hpp"
#include "compute/layer.hpp"
#include "support/error.hpp"
#include "support/units.hpp"

#include <algorithm>

namespace breakeven::compute {
namespace {

/// What more distinct layers may add of their own accord: calibrating a small model should not
/// take a large part of the machine.
constexpr double comfortable_bytes = 1.2 * 1024 * 1024 * 1024;
constexpr std::int64_t own_embedding_rows = 8192;

class Planner {
public:
  Planner(const model::Architecture& architecture, const MemoryRequest& request)
      : m_architecture(architecture), m_request(request),
        m_bytes(static_cast<double>(bytes_of(request.element))) {
    for (const model::LayerKind& kind : architecture.kinds) {
      KindPlan p;
      const AttentionShape shape = attention_shape(kind.attention);
      p.kv_heads = kind.attention.kind == model::AttentionKind::mla ? 1 : shape.kv_heads;
      p.kv_caches = shape.heads > 0 ? std::min<std::int64_t>(2, kind.count) : 0;
      p.stored_experts = kind.mlp.experts;
      m_plan.kinds.push_back(p);
    }
    const model::Vocabulary& vocabulary = architecture.vocabulary;
    m_plan.head_rows = vocabulary.size;
    m_plan.embedding_rows =
        vocabulary.tied_head ? 0 : std::min(own_embedding_rows, vocabulary.size);
  }

  MemoryPlan run() {
    reduce();
    grow_layers();
    m_plan.bytes = static_cast<std::uint64_t>(total());
    return std::move(m_plan);
  }

private:
  [[nodiscard]] double layer_bytes(std::size_t i) const {
    return m_bytes * weight_elements(m_architecture.kinds[i], m_architecture.hidden,
                                     m_plan.kinds[i].stored_experts);
  }

  [[nodiscard]] double kv_bytes(std::size_t i) const {
    const model::LayerKind& kind = m_architecture.kinds[i];
    const CacheShape cache = cache_shape(kind, m_plan.kinds[i].kv_heads);
    if (cache.kv_heads == 0) return 0;
    const std::int64_t tokens =
        held_context_limit(attention_shape(kind.attention), m_request.max_context_tokens) +
        m_request.chunk_tokens;
    return static_cast<double>(KvCache::bytes(m_request.element, cache.stored_heads, cache.qk_dim,
                                              cache.v_dim, tokens)) +
           m_bytes * static_cast<double>(cache.latent_width) * static_cast<double>(tokens);
  }

  [[nodiscard]] double activation_bytes() const {
    WorkspaceNeeds needs;
    for (const model::LayerKind& kind : m_architecture.kinds)
      needs.cover(workspace_needs(kind, m_architecture.hidden, m_request.element));
    const double per_token =
        static_cast<double>(2 * m_architecture.hidden + needs.projected + needs.mixed +
                            needs.intermediate + needs.activated + needs.extra);
    return m_bytes * per_token * static_cast<double>(m_request.chunk_tokens) +
           static_cast<double>(AttentionScratch::bytes(m_request.element, needs.qk_dim, needs.v_dim,
                                                       m_request.threads)) +
           4.0 * static_cast<double>(needs.rope_dim * m_request.chunk_tokens);
  }

  /// While weights are laid out, the largest matrix exists twice.
  [[nodiscard]] double packing_bytes() const {
    double largest = 0;
    for (const model::LayerKind& kind : m_architecture.kinds) {
      const auto h = static_cast<double>(m_architecture.hidden);
      largest = std::max(
          {largest, h * static_cast<double>(2 * kind.mlp.intermediate),
           h * static_cast<double>(kind.mlp.shared_intermediate * 2),
           h * static_cast<double>(workspace_needs(kind, 0, m_request.element).projected)});
    }
    return m_bytes * largest;
  }

  [[nodiscard]] double total() const {
    double sum = activation_bytes() + packing_bytes();
    sum += m_bytes * static_cast<double>(m_plan.head_rows + m_plan.embedding_rows) *
           static_cast<double>(m_architecture.hidden);
    for (std::size_t i = 0; i < m_plan.kinds.size(); ++i)
      sum += layer_bytes(i) * static_cast<double>(m_plan.kinds[i].layers) +
             kv_bytes(i) * static_cast<double>(m_plan.kinds[i].kv_caches);
    return sum;
  }

  [[nodiscard]] bool fits() const { return total() <= static_cast<double>(m_request.limit_bytes); }

  void warn(const std::string& what) {
    m_plan.warnings.push_back("memory for the calibration is limited to " +
                              format_bytes(static_cast<double>(m_request.limit_bytes)) + ": " +
                              what);
  }

  void reduce() {
    if (fits()) return;
    for (KindPlan& kind : m_plan.kinds)
      kind.kv_caches = std::min<std::int64_t>(kind.kv_caches, 1);
    if (fits()) return;
    if (halve([](KindPlan& k) -> std::int64_t& { return k.kv_heads; }))
      warn("KV heads share buffers, so caches hit more often than in an engine");
    if (fits()) return;
    if (halve([](KindPlan& k) -> std::int64_t& { return k.stored_experts; }))
      warn("experts share weights, so caches hit more often than in an engine");
    if (fits()) return;
    const std::int64_t least = std::min<std::int64_t>(4096, m_plan.head_rows);
    while (!fits() && m_plan.head_rows / 2 >= least)
      m_plan.head_rows /= 2;
    warn("a part of the LM head is timed and scaled");
    if (fits()) return;
    throw error(error_kind::environment,
                "one layer of each kind of " + m_architecture.name + " with a context of " +
                    format_tokens(m_request.max_context_tokens) + " tokens needs " +
                    format_bytes(total()) + " of memory, but " +
                    format_bytes(static_cast<double>(m_request.limit_bytes)) +
                    " may be used: choose a smaller model, a shorter context or chunk, or a "
                    "machine with more memory");
  }

  /// Halves a count of every kind until all fits or nothing is left to halve; true when it did.
  template <class Member>
  bool halve(Member member) {
    bool changed = false, possible = true;
    while (!fits() && possible) {
      possible = false;
      for (KindPlan& kind : m_plan.kinds)
        if (std::int64_t& count = member(kind); count > 1) {
          count = (count + 1) / 2;
          changed = possible = true;
        }
    }
    return changed;
  }

  void grow_layers() {
    const double cold = 2.0 * static_cast<double>(m_request.last_level_cache_bytes);
    const double own_limit =
        m_request.measured_layers > 0
            ? static_cast<double>(m_request.limit_bytes)
            : std::min(static_cast<double>(m_request.limit_bytes), comfortable_bytes);
    bool grew = true;
    while (grew) {
      grew = false;
      for (std::size_t i = 0; i < m_plan.kinds.size(); ++i) {
        KindPlan& kind = m_plan.kinds[i];
        if (kind.layers >= m_architecture.kinds[i].count) continue;
        const bool wanted =
            m_request.measured_layers > 0
                ? kind.layers < m_request.measured_layers
                : layer_bytes(i) * static_cast<double>(kind.layers) < cold || kind.layers < 2;
        if (!wanted || total() + layer_bytes(i) > own_limit) continue;
        ++kind.layers;
        grew = true;
      }
    }
    for (std::size_t i = 0; i < m_plan.kinds.size(); ++i)
      if (m_plan.kinds[i].layers <
          std::min(m_request.measured_layers, m_architecture.kinds[i].count))
        warn("fewer distinct layers than asked for are kept");
  }

  static std::int64_t held_context_limit(const AttentionShape& shape, std::int64_t context) {
    return shape.window_tokens > 0 ? std::min(context, shape.window_tokens) : context;
  }

  const model::Architecture& m_architecture;
  MemoryRequest m_request;
  double m_bytes;
  MemoryPlan m_plan;
};

} // namespace

MemoryPlan plan_memory(const model::Architecture& architecture, const MemoryRequest& request) {
  return Planner(architecture, request).run();
}

} // namespace breakeven::compute
