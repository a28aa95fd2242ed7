#pragma once

#include "model/families/families.hpp"

namespace breakeven::model {

/// Library defaults of the sizes of multi-head latent attention.
struct MlaDefaults {
  std::int64_t q_lora_rank = 0, kv_lora_rank = 0, qk_nope_head_dim = 0, qk_rope_head_dim = 0,
               v_head_dim = 0;
};

/// A decoder whose layers all have latent attention. `num_key_value_heads` and `head_dim` of such
/// files say nothing about the cache and are not read. `kv_lora_rank` is required.
Decoder read_mla_decoder(const Config& config, Draft& draft, const Defaults& defaults,
                         const MlaDefaults& mla);
/// Sets attention only, for hybrids.
void set_mla(Decoder& decoder, const Config& config, Draft& draft, const MlaDefaults& mla);
void add_mla_layer(const Decoder& decoder, std::int64_t index, Draft& draft, bool indexed);
void build_mla(const Decoder& decoder, Draft& draft);

} // namespace breakeven::model
