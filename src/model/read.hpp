#pragma once

#include "model/architecture.hpp"

#include <string>
#include <string_view>

namespace breakeven::model {

/// read_architecture() of a file's content that is in memory: JSON, or GGUF when it starts with
/// that magic. `where` names it in errors.
Architecture read_architecture_text(std::string_view text, const std::string& where,
                                    const ReadOptions& options = {});

} // namespace breakeven::model
