#include "compute/layer.hpp"

namespace breakeven::compute {
namespace {

std::int64_t projected_width(const model::AttentionSpec& a) {
  return a.heads * a.qk_head_dim + a.kv_heads * (a.qk_head_dim + a.v_head_dim);
}

std::int64_t mlp_matrices(const model::MlpSpec& mlp) {
  return mlp.kind == model::MlpKind::gated || (mlp.kind == model::MlpKind::moe && mlp.gated) ? 3
                                                                                             : 2;
}

/// Weight elements of one layer, `experts` of the routed ones counted.
double elements(const model::LayerKind& kind, std::int64_t hidden, std::int64_t experts) {
  const auto h = static_cast<double>(hidden);
  double total = 0;
  const model::AttentionSpec& a = kind.attention;
  if (a.kind != model::AttentionKind::none)
    total += h * static_cast<double>(projected_width(a) + a.heads * a.v_head_dim);
  const model::MlpSpec& mlp = kind.mlp;
  if (mlp.kind == model::MlpKind::none) return total;
  const double one = static_cast<double>(mlp_matrices(mlp)) * h;
  if (mlp.kind != model::MlpKind::moe) return total + one * static_cast<double>(mlp.intermediate);
  return total + one * static_cast<double>(mlp.intermediate * experts + mlp.shared_intermediate) +
         h * static_cast<double>(mlp.experts);
}

} // namespace

WorkspaceNeeds workspace_needs(const model::LayerKind& kind, std::int64_t) {
  WorkspaceNeeds needs;
  const model::AttentionSpec& a = kind.attention;
  if (a.kind != model::AttentionKind::none) {
    needs.projected = projected_width(a);
    needs.mixed = a.heads * a.v_head_dim;
    needs.qk_dim = a.qk_head_dim;
    needs.v_dim = a.v_head_dim;
    needs.rope_dim = a.rope ? a.qk_head_dim : 0;
  }
  needs.intermediate = kind.mlp.intermediate * (mlp_matrices(kind.mlp) - 1);
  needs.activated = kind.mlp.intermediate;
  return needs;
}

std::string unsupported_reason(const model::LayerKind& kind) {
  const model::AttentionSpec& a = kind.attention;
  if (a.kind == model::AttentionKind::mla) return "latent attention (MLA)";
  if (a.index_heads > 0) return "sparse attention with an index-key cache";
  if (kind.state.kind != model::StateKind::none) return "a recurrent layer";
  if (kind.mlp.kind == model::MlpKind::moe) return "a mixture of experts";
  return "";
}

std::vector<std::string> approximations(const model::LayerKind& kind) {
  std::vector<std::string> sentences;
  if (kind.mlp.kind != model::MlpKind::none && kind.mlp.activation == model::Activation::other)
    sentences.push_back("layers '" + kind.name +
                        "': the activation is not known here and is timed as SiLU");
  return sentences;
}

double dense_flop_per_token(const model::LayerKind& kind, std::int64_t hidden) {
  return 2 * elements(kind, hidden, kind.mlp.experts_per_token);
}

double weight_elements(const model::LayerKind& kind, std::int64_t hidden,
                       std::int64_t stored_experts) {
  return elements(kind, hidden, stored_experts);
}

} // namespace breakeven::compute
