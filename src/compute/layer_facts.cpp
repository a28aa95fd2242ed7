#include "compute/layer.hpp"
#include "compute/mixer_latent.hpp"
#include "compute/mixer_scan.hpp"

#include <algorithm>

namespace breakeven::compute {
namespace {

using model::AttentionKind;
using model::MlpKind;
using model::StateKind;

std::int64_t projected_width(const model::AttentionSpec& a) {
  if (a.kind == AttentionKind::mla) {
    const std::int64_t q = a.heads * a.qk_head_dim;
    return q + (a.q_lora_rank > 0 ? a.q_lora_rank : q) + a.kv_lora_rank + a.qk_rope_head_dim;
  }
  return a.heads * a.qk_head_dim + a.kv_heads * (a.qk_head_dim + a.v_head_dim);
}

/// Weights of the mixer that are kept (MLA: the expansion included).
double mixer_elements(const model::LayerKind& kind, double hidden) {
  const model::AttentionSpec& a = kind.attention;
  if (kind.state.kind != StateKind::none)
    return hidden * static_cast<double>(ScanColumns(kind.state).total +
                                        kind.state.heads * kind.state.head_dim);
  if (a.kind == AttentionKind::none) return 0;
  const auto out = static_cast<double>(a.heads * a.v_head_dim);
  if (a.kind != AttentionKind::mla) return hidden * (static_cast<double>(projected_width(a)) + out);
  const auto q = static_cast<double>(a.heads * a.qk_head_dim);
  const auto rank = static_cast<double>(a.q_lora_rank);
  const double queries = a.q_lora_rank > 0 ? rank * (hidden + q) : hidden * q;
  return queries + hidden * static_cast<double>(a.kv_lora_rank + a.qk_rope_head_dim) +
         hidden * out +
         static_cast<double>(a.kv_lora_rank * a.heads * (a.qk_nope_head_dim + a.v_head_dim));
}

std::int64_t mlp_matrices(const model::MlpSpec& mlp) {
  const bool gated = mlp.kind == MlpKind::gated || (mlp.kind == MlpKind::moe && mlp.gated);
  return gated ? 3 : 2;
}

/// Weight elements of one layer, `experts` of the routed ones counted.
double elements(const model::LayerKind& kind, std::int64_t hidden, std::int64_t experts) {
  const auto h = static_cast<double>(hidden);
  const double mixer = mixer_elements(kind, h);
  const model::MlpSpec& mlp = kind.mlp;
  if (mlp.kind == MlpKind::none) return mixer;
  const double one = static_cast<double>(mlp_matrices(mlp)) * h;
  if (mlp.kind != MlpKind::moe) return mixer + one * static_cast<double>(mlp.intermediate);
  return mixer + one * static_cast<double>(mlp.intermediate * experts + mlp.shared_intermediate) +
         h * static_cast<double>(mlp.experts);
}

} // namespace

WorkspaceNeeds workspace_needs(const model::LayerKind& kind, std::int64_t hidden, Element element) {
  WorkspaceNeeds needs;
  const model::AttentionSpec& a = kind.attention;
  if (kind.state.kind != StateKind::none) {
    const ScanColumns columns(kind.state);
    needs.projected = columns.total;
    needs.mixed = kind.state.heads * kind.state.head_dim;
    needs.extra = columns.convolved * 4 / bytes_of(element); // fp32 rows
  } else if (a.kind != AttentionKind::none) {
    needs.projected = projected_width(a);
    needs.mixed = a.heads * a.v_head_dim;
    needs.qk_dim = a.qk_head_dim;
    needs.v_dim = a.v_head_dim;
    if (a.kind == AttentionKind::mla)
      needs.rope_dim = a.qk_rope_head_dim;
    else
      needs.rope_dim = a.rope ? a.qk_head_dim : 0;
  }
  const std::int64_t width = std::max(kind.mlp.intermediate, kind.mlp.shared_intermediate);
  needs.intermediate = width * (mlp_matrices(kind.mlp) - 1);
  needs.activated = width;
  if (kind.mlp.kind == MlpKind::moe)
    needs.extra = std::max(needs.extra, 2 * hidden + kind.mlp.experts);
  return needs;
}

std::string unsupported_reason(const model::LayerKind& kind) {
  if (kind.attention.index_heads > 0 || kind.attention.index_topk > 0)
    return "sparse attention with an index-key cache";
  if (kind.state.kind == StateKind::mamba1) return "a Mamba-1 selective scan";
  if (kind.state.kind == StateKind::rwkv) return "an RWKV layer";
  if (kind.state.kind != StateKind::none && kind.attention.kind != AttentionKind::none)
    return "attention and a recurrent state in one layer";
  return "";
}

std::vector<std::string> approximations(const model::LayerKind& kind) {
  std::vector<std::string> sentences;
  const auto say = [&](const std::string& what) {
    sentences.push_back("layers '" + kind.name + "': " + what);
  };
  if (kind.mlp.kind != MlpKind::none && kind.mlp.activation == model::Activation::other)
    say("the activation is not known here and is timed as SiLU");
  if (kind.state.kind != StateKind::none)
    say("the recurrence is timed as a chunked scan of the same shapes and cost, not with the "
        "model's own parametrisation");
  if (kind.mlp.kind == MlpKind::moe)
    say("tokens are spread over experts by a seeded draw, not by a trained router");
  return sentences;
}

double dense_flop_per_token(const model::LayerKind& kind, std::int64_t hidden) {
  return 2 * elements(kind, hidden, kind.mlp.experts_per_token) - expansion_flop(kind.attention) +
         (kind.state.kind != StateKind::none ? scan_flop_per_token(kind.state) : 0.0);
}

double weight_elements(const model::LayerKind& kind, std::int64_t hidden,
                       std::int64_t stored_experts) {
  return elements(kind, hidden, stored_experts);
}

double expansion_flop(const model::AttentionSpec& a) {
  if (a.kind != AttentionKind::mla) return 0;
  return 2.0 * static_cast<double>(a.kv_lora_rank) *
         static_cast<double>(a.heads * (a.qk_nope_head_dim + a.v_head_dim));
}

CacheShape cache_shape(const model::LayerKind& kind, std::int64_t kv_heads) {
  const model::AttentionSpec& a = kind.attention;
  if (a.kind == AttentionKind::none) return {};
  if (a.kind == AttentionKind::mla) {
    const std::int64_t group = latent_head_group(a);
    return {group, group, a.qk_head_dim, a.v_head_dim, a.kv_lora_rank + a.qk_rope_head_dim};
  }
  return {a.kv_heads, kv_heads, a.qk_head_dim, a.v_head_dim, 0};
}

} // namespace breakeven::compute
