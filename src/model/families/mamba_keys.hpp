#pragma once

#include "model/families/families.hpp"

namespace breakeven::model {

/// What a model_type gives when its file does not say.
struct Mamba2Defaults {
  std::int64_t heads = 128, groups = 1, state = 128, inner = 0;
};

/// Reads the `mamba_*` keys that transformers' Bamba, Granite and Falcon-H1 share. Head sizes given
/// as "auto" follow from the inner width.
MambaShape mamba2_shape(const Config& config, const Draft& draft, std::int64_t hidden,
                        const Mamba2Defaults& defaults);
/// Reads the `mamba_*` keys that Jamba and Zamba share.
MambaShape mamba1_shape(const Config& config, const Draft& draft, std::int64_t hidden);
/// A count that may also be the string "auto".
std::int64_t count_or_auto(const Config& config, const char* key, std::int64_t automatic);

} // namespace breakeven::model
