#pragma once

#include <string>

namespace breakeven::profile {

/// The JSON Schema (draft 2020-12) of the break-even file, generated from the same table of keys
/// that the reader and the writer use. breakeven.schema.json in this folder is its text.
std::string json_schema_text();

} // namespace breakeven::profile
