#include "compute/step_lengths.hpp"

#include "support/error.hpp"

namespace breakeven::compute {

void check_step_lengths(const ComputeOptions& options, std::int64_t context_tokens,
                        std::int64_t new_tokens) {
  if (new_tokens < 1 || new_tokens > options.chunk_tokens || context_tokens < 0 ||
      context_tokens > options.max_context_tokens)
    throw error(error_kind::usage, "a step of " + std::to_string(new_tokens) +
                                       " new tokens after " + std::to_string(context_tokens) +
                                       " is outside what this device was set up for (" +
                                       std::to_string(options.chunk_tokens) + " after " +
                                       std::to_string(options.max_context_tokens) + ")");
}

void check_kind(const model::Architecture& architecture, std::size_t kind) {
  if (kind >= architecture.kinds.size())
    throw error(error_kind::usage,
                "model " + architecture.name + " has no layer kind " + std::to_string(kind));
}

} // namespace breakeven::compute
