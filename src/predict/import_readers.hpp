#pragma once

#include "predict/import.hpp"

/// One reader per format; each is defined in the file of its name.
namespace breakeven::predict {

bool is_csv(std::string_view text);
void read_csv(std::string_view text, const std::string& origin, Import& import);
bool is_vllm(std::string_view text);
void read_vllm(std::string_view text, const std::string& origin, Import& import);
bool is_llama_bench(std::string_view text);
void read_llama_bench(std::string_view text, const std::string& origin, Import& import);
bool is_pykvcache(std::string_view text);
void read_pykvcache(std::string_view text, const std::string& origin, Import& import);

} // namespace breakeven::predict
