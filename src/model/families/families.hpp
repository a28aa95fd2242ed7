#pragma once

#include "model/decoder.hpp"

namespace breakeven::model {

void read_llama(const Config& config, Draft& draft);
void read_mistral(const Config& config, Draft& draft);
void read_qwen2(const Config& config, Draft& draft);
void read_qwen3(const Config& config, Draft& draft);

} // namespace breakeven::model
