#pragma once

#include "model/architecture.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::cli {

/// A model as a person reads it: cache, layers, parameters, FLOPs, GEMMs of one rank.
std::string model_card(const model::Architecture& model, const std::vector<std::int64_t>& tokens);

} // namespace breakeven::cli
