#pragma once

#include "compute/layer.hpp"

namespace breakeven::compute {

/// Heads of latent attention whose keys and values are expanded at a time.
std::int64_t latent_head_group(const model::AttentionSpec& spec);

/// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434) as engines run prefill: the cache
/// holds one latent and one rope key per token; keys and values of all tokens, cached ones
/// included, are expanded by the kv_b projection, some heads at a time, and attended as MHA.
/// The expansion depends on the context, so it counts as attention.
std::unique_ptr<Mixer> make_latent_mixer(const Runtime&, const model::LayerKind&,
                                         const LayerOptions&);

} // namespace breakeven::compute
