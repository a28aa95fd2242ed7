#pragma once

#include "compute/layer.hpp"

namespace breakeven::compute {

/// Tokens that a scan takes at a time.
inline constexpr std::int64_t scan_chunk = 64;

/// Columns of the input projection of a recurrent layer, in this order: q and k of all key heads,
/// v and the output gate z of all value heads, one decay and one beta per value head.
struct ScanColumns {
  explicit ScanColumns(const model::StateSpec& spec);
  std::int64_t k, v, z, decay, beta; ///< where each begins; q at 0
  std::int64_t total;
  std::int64_t convolved; ///< q, k and v: what the causal convolution covers
};

/// Recurrent layers (Mamba-2, gated delta net, lightning attention) as a chunked scan of gated
/// linear attention with scalar decay per head, in fp32 from bf16 inputs:
///   S_t = a_t S_{t-1} + b_t k_t (v_t - [delta rule] k_t^T a_t S_{t-1}),  o_t = q_t^T S_t
/// (Mamba-2, arXiv:2405.21060; gated delta rule, arXiv:2412.06464; lightning, arXiv:2401.04658).
/// The layer does their work in their shapes; it does not reproduce one model's parametrisation of
/// a_t and b_t: here a = 1 / (1 + e^x) of its column, b likewise, b = 1 without the delta rule.
std::unique_ptr<Mixer> make_scan_mixer(const Runtime&, const model::LayerKind&,
                                       const LayerOptions&);

/// Flop of the scan for one token of one layer.
double scan_flop_per_token(const model::StateSpec& spec);

} // namespace breakeven::compute
