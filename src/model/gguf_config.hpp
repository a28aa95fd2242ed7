#pragma once

#include "model/gguf_file.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace breakeven::model {

/// A GGUF file's metadata in the words of a config.json, so that the same readers understand it.
/// Throws error_kind::bad_input, naming `where`, for an architecture that is not known.
nlohmann::json gguf_config(const GgufFile& file, const std::string& where);

} // namespace breakeven::model
