#include "predict/import.hpp"
#include "predict/import_readers.hpp"
#include "predict/import_text.hpp"

namespace breakeven::predict {

std::vector<nlohmann::json> json_objects(std::string_view text, const std::string& origin) {
  std::vector<nlohmann::json> objects;
  const auto take = [&](const nlohmann::json& value) {
    if (!value.is_object()) refuse_import(origin, "must hold JSON objects");
    objects.push_back(value);
  };
  nlohmann::json whole;
  bool is_whole = true;
  try {
    whole = model::parse_json(text, origin);
  } catch (const error&) {
    is_whole = false; // perhaps one object a line
  }
  if (is_whole && whole.is_array())
    for (const nlohmann::json& each : whole)
      take(each);
  if (is_whole && !whole.is_array()) take(whole);
  if (!is_whole)
    for (const std::string& line : split(text, '\n'))
      if (line.find_first_not_of(" \t\r") != std::string::npos)
        take(model::parse_json(line, origin));
  if (objects.empty()) refuse_import(origin, "holds no results");
  return objects;
}

bool looks_like_json(std::string_view text, const std::vector<std::string_view>& keys) {
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || (text[start] != '{' && text[start] != '[')) return false;
  for (const std::string_view key : keys)
    if (text.find("\"" + std::string(key) + "\"") == std::string_view::npos) return false;
  return true;
}

void Import::add(std::int64_t context_tokens, std::int64_t new_tokens, double seconds) {
  for (PrefillSamples& each : prefill)
    if (each.context_tokens == context_tokens && each.new_tokens == new_tokens) {
      each.seconds.push_back(seconds);
      return;
    }
  prefill.push_back({context_tokens, new_tokens, {seconds}});
}

const registry<ImportFormat>& import_formats() {
  static const registry<ImportFormat> table = [] {
    registry<ImportFormat> rows("import format");
    rows.add("py-kvcache", {"py-kvcache's calibration: v1 thresholds or v2 curves", is_pykvcache,
                            read_pykvcache});
    rows.add("llama-bench", {"llama-bench -o json or jsonl, with or without depths", is_llama_bench,
                             read_llama_bench});
    rows.add("vllm",
             {"vllm bench serve --save-result (better with --save-detailed)", is_vllm, read_vllm});
    rows.add("csv", {"lines of context,new,seconds", is_csv, read_csv});
    return rows;
  }();
  return table;
}

Import read_imports(const std::vector<std::string>& paths, const std::string& format) {
  Import import;
  for (const std::string& path : paths) {
    const std::string text = model::read_text_file(path, largest_import_bytes);
    std::string name = format;
    const ImportFormat* reader = nullptr;
    if (format != "auto") reader = &import_formats().at(format);
    for (const auto& [known, candidate] : import_formats().rows())
      if (reader == nullptr && candidate.recognises(text)) {
        name = known;
        reader = &candidate;
      }
    if (reader == nullptr)
      refuse_import(path, "is none of the formats that can be imported (csv, vllm, llama-bench, "
                          "py-kvcache); name one with --format");
    if (!import.format.empty() && import.format != name)
      refuse_import(path, "is of format " + name + ", the file before it of " + import.format);
    import.format = name;
    reader->read(text, path, import);
  }
  if (import.prefill.empty() && import.thresholds.empty())
    refuse_import(paths.empty() ? "import" : paths.front(), "holds no prefill times");
  return import;
}

} // namespace breakeven::predict
