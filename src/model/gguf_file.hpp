#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace breakeven::model {

/// What a GGUF file says about itself before its tensor data (the format's description:
/// ggml, docs/gguf.md). Values that no reader here asks for (vocabularies) are skipped.
struct GgufFile {
  std::map<std::string, std::string> texts;
  std::map<std::string, std::int64_t> numbers; ///< integers and booleans
  std::map<std::string, std::vector<std::int64_t>> lists;
  std::map<std::string, std::int64_t> lengths; ///< how many elements each array has
  std::set<std::string> tensors;               ///< names, as far as the file lists them
};

/// True when the file starts with the format's magic.
bool is_gguf(const std::string& path);

/// Reads versions 2 and 3, little endian; at most 64 MiB of metadata, no tensor data. Throws
/// error_kind::bad_input for a damaged or hostile file.
GgufFile read_gguf(const std::string& path);
/// The same of bytes in memory; `where` names them in errors.
GgufFile read_gguf_bytes(std::string_view bytes, const std::string& where);

} // namespace breakeven::model
