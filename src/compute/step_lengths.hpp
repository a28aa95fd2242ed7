#pragma once

#include "compute/compute.hpp"

namespace breakeven::compute {

/// Throws error::usage unless a step of `new_tokens` after `context_tokens` lies within what a back
/// end was set up for.
void check_step_lengths(const ComputeOptions& options, std::int64_t context_tokens,
                        std::int64_t new_tokens);

/// Throws error::usage unless the model has a layer kind of that index.
void check_kind(const model::Architecture& architecture, std::size_t kind);

} // namespace breakeven::compute
