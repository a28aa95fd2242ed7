#pragma once

#include "model/draft.hpp"

namespace breakeven::model {

/// The part of a config that describes the decoder whose KV cache counts.
struct TextModel {
  Config config;          ///< the whole file, or its text_config
  std::string model_type; ///< as the file spells it
  const Family* family = nullptr;
};

/// Finds it, and the reader for it. Throws error_kind::bad_input for a model_type without one.
TextModel find_text_model(const Config& whole);

} // namespace breakeven::model
