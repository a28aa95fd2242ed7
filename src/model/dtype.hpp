#pragma once

#include "model/architecture.hpp"
#include "model/config.hpp"

#include <optional>
#include <string>

namespace breakeven::model {

/// "bfloat16", "torch.float16", "fp8_e4m3", "F8", ...; nothing for a name that is none.
std::optional<DType> dtype_named(std::string name);

/// dtype_named(), but throws error_kind::bad_input naming `where`.
DType parse_dtype(const std::string& name, const std::string& where);

/// Element types as the files give them. `side_file` is hf_quant_config.json's content.
struct ElementTypes {
  DType weights = DType::bf16, activations = DType::bf16, kv = DType::bf16;
  bool stated = false; ///< the file names the activations' type
};
ElementTypes read_element_types(const Config& text, const Config& outer,
                                const std::optional<Config>& side_file);

} // namespace breakeven::model
