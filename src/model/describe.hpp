#pragma once

#include "model/architecture.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::model {

/// Windowed layers of a model together. Layers of different windows are summed: then
/// `window_tokens` is 0.
struct WindowSummary {
  std::int64_t layers = 0, window_tokens = 0, bytes_per_token = 0, cap_bytes = 0;
};
WindowSummary summarise_windows(const Architecture& model);

/// Every figure of a model as JSON, null where a quantity does not apply: KV bytes per token and at
/// lengths (1,024, 32,768, 131,072 and `tokens`), parameters, FLOPs, layers, GEMMs. With tensor
/// parallelism bytes, shapes and GEMM parameters are those of one rank, params_* the whole model's.
nlohmann::ordered_json describe(const Architecture& model, const std::vector<std::int64_t>& tokens);

/// What `describe` gives for a model that was refused.
nlohmann::ordered_json describe_refusal(const std::string& name, const std::string& reason);

/// "32 layers full: 2 x 8 heads x 128 x 16 bit": how the KV bytes of one token come about.
std::string derivation(const Architecture& model);

} // namespace breakeven::model
