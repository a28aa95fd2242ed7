#include "predict/import_readers.hpp"
#include "predict/import_text.hpp"

namespace breakeven::predict {

using nlohmann::json;

bool is_llama_bench(std::string_view text) {
  return looks_like_json(text, {"n_prompt", "n_gen", "avg_ns"});
}

void read_llama_bench(std::string_view text, const std::string& origin, Import& import) {
  for (const json& result : json_objects(text, origin)) {
    const std::int64_t prompt = tokens_at(result, "n_prompt", 0, origin);
    if (prompt == 0 || tokens_at(result, "n_gen", 0, origin) > 0) continue; // not prefill alone
    const std::int64_t depth =
        result.contains("n_depth") ? tokens_at(result, "n_depth", 0, origin) : 0;
    json samples = json::array();
    if (const auto found = result.find("samples_ns"); found != result.end() && found->is_array())
      samples = *found;
    if (samples.empty() && result.contains("avg_ns")) samples.push_back(result["avg_ns"]);
    for (const json& each : samples) {
      if (!each.is_number() || !is_time(each.get<double>() / 1e9))
        refuse_import(origin, "'samples_ns' holds what is no time");
      import.add(depth, prompt, each.get<double>() / 1e9);
    }
    if (result.contains("n_ubatch")) {
      const std::int64_t chunk = tokens_at(result, "n_ubatch", 1, origin);
      if (import.chunk_tokens != 0 && import.chunk_tokens != chunk)
        refuse_import(origin, "mixes results of different n_ubatch: import them one at a time");
      import.chunk_tokens = chunk;
    }
    for (const auto& [key, member] :
         {std::pair{"gpu_info", &Import::device}, std::pair{"model_type", &Import::model}})
      if (const auto found = result.find(key);
          found != result.end() && found->is_string() && !found->get<std::string>().empty())
        import.*member = printable(found->get<std::string>());
    if (import.device.empty())
      if (const auto cpu = result.find("cpu_info"); cpu != result.end() && cpu->is_string())
        import.device = printable(cpu->get<std::string>());
  }
  if (import.prefill.empty())
    refuse_import(origin, "holds no prompt-processing test (n_prompt > 0, n_gen = 0): run "
                          "llama-bench -p 512,2048 -n 0 -d 0,4096,16384 -o json");
}

} // namespace breakeven::predict
