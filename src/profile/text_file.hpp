#pragma once

#include <string>

namespace breakeven::profile {

/// Writes `text` as write_file does: `path` is either old or new, never torn. Throws
/// error::environment (no space, not writable, no such directory).
void write_text(const std::string& text, const std::string& path);

} // namespace breakeven::profile
