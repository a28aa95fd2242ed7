#include "compute/layer.hpp"
#include "compute/mixer_scan.hpp"
#include "cuda/compute/layer.hpp"
#include "cuda/kernels/scan.hpp"

#include <algorithm>

namespace breakeven::cuda {

using model::AttentionKind;
using model::MlpKind;

std::int64_t latent_head_group(const model::AttentionSpec& spec) {
  for (const std::int64_t group : {16, 8, 4, 2})
    if (spec.heads % group == 0) return group;
  return 1;
}

WorkspaceNeeds workspace_needs(const model::LayerKind& kind, std::int64_t hidden) {
  WorkspaceNeeds needs;
  const model::AttentionSpec& a = kind.attention;
  needs.widest_input = hidden;
  const auto input = [&](std::int64_t k) { needs.widest_input = std::max(needs.widest_input, k); };
  if (a.kind == AttentionKind::mla) {
    const std::int64_t q = a.heads * a.qk_head_dim, group = latent_head_group(a);
    needs.projected = (a.q_lora_rank > 0 ? a.q_lora_rank : q) + a.kv_lora_rank + a.qk_rope_head_dim;
    needs.queries = q;
    needs.expanded = group * (a.qk_nope_head_dim + a.v_head_dim);
    needs.keys = group * a.qk_head_dim;
    needs.rope_dim = a.qk_rope_head_dim;
    needs.widest_latent = a.kv_lora_rank;
  } else if (a.kind != AttentionKind::none) {
    needs.projected = a.heads * a.qk_head_dim + a.kv_heads * (a.qk_head_dim + a.v_head_dim);
    needs.rope_dim = a.rope ? a.qk_head_dim : 0;
  }
  needs.mixed = a.kind == AttentionKind::none ? 0 : a.heads * a.v_head_dim;
  if (kind.state.kind != model::StateKind::none) {
    const compute::ScanColumns columns(kind.state);
    needs.projected = padded_columns(columns.total);
    needs.queries = columns.convolved;
    needs.mixed = kind.state.heads * kind.state.head_dim;
  }
  input(needs.mixed);
  const model::MlpSpec& mlp = kind.mlp;
  const bool moe = mlp.kind == MlpKind::moe;
  const std::int64_t copies = moe ? mlp.experts_per_token : 1;
  const std::int64_t width = std::max(copies * mlp.intermediate, mlp.shared_intermediate);
  const bool gated = mlp.kind == MlpKind::gated || (moe && mlp.gated);
  needs.intermediate = width * (gated ? 2 : 1);
  needs.activated = width;
  input(width);
  if (moe) {
    needs.gathered = copies * hidden;
    needs.router = mlp.experts;
    input(needs.gathered);
  }
  return needs;
}

std::string unsupported_reason(const model::LayerKind& kind, const CudaDevice& device,
                               const AttentionProvider& attention) {
  const model::AttentionSpec& a = kind.attention;
  if (const std::string reason = compute::unsupported_reason(kind); !reason.empty())
    return reason + " is not implemented for it";
  if (kind.state.kind != model::StateKind::none)
    if (const std::string what = scan_unsupported_reason(static_cast<int>(kind.state.head_dim),
                                                         static_cast<int>(kind.state.state_dim),
                                                         device.shared_bytes_per_block);
        !what.empty())
      return what + " is not implemented for it";
  for (const std::int64_t size :
       {kind.mlp.intermediate, kind.mlp.shared_intermediate, a.q_lora_rank, a.kv_lora_rank,
        a.qk_nope_head_dim, a.qk_rope_head_dim})
    if (size % 8 != 0) return "a width of " + std::to_string(size) + " is not a multiple of 8";
  if (a.kind == AttentionKind::none) return "";
  return attention.unsupported_reason(static_cast<int>(a.qk_head_dim),
                                      static_cast<int>(a.v_head_dim));
}

} // namespace breakeven::cuda
