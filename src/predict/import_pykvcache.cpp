#include "predict/import_readers.hpp"
#include "predict/import_text.hpp"

#include <charconv>

/// py-kvcache's calibration files, as t348575/py-kvcache reads them (py_kvcache/break_even.py, July
/// 2026): v1 holds thresholds, v2 adds curves of recompute time (f) and load time (g_ssd, g_mem).
namespace breakeven::predict {
namespace {

using nlohmann::json;

constexpr std::pair<const char*, const char*> thresholds[] = {{"break_even_ssd_tokens", "ssd"},
                                                              {"break_even_mem_tokens", "memory"}};
constexpr std::pair<const char*, const char*> load_curves[] = {{"g_ssd", "ssd"},
                                                               {"g_mem", "memory"}};

std::vector<std::pair<std::int64_t, double>> knots(const json& curves, const char* name,
                                                   const std::string& origin) {
  const std::string where = std::string("curve '") + name + "'";
  const auto curve = curves.find(name);
  if (curve == curves.end() || !curve->is_object() || !curve->contains("knots") ||
      !(*curve)["knots"].is_object() || (*curve)["knots"].empty())
    refuse_import(origin, where + " needs 'knots', an object of tokens and seconds");
  std::map<std::int64_t, double> sorted;
  for (const auto& [key, value] : (*curve)["knots"].items()) {
    std::int64_t tokens = 0;
    const auto [end, ec] = std::from_chars(key.data(), key.data() + key.size(), tokens);
    if (ec != std::errc{} || end != key.data() + key.size() || tokens < 0 || tokens > most_tokens ||
        !value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0)
      refuse_import(origin, where + " has a knot that is not tokens and seconds");
    if (!sorted.emplace(tokens, value.get<double>()).second)
      refuse_import(origin, where + " has two knots at " + std::to_string(tokens) + " tokens");
  }
  return {sorted.begin(), sorted.end()};
}

} // namespace

bool is_pykvcache(std::string_view text) {
  return looks_like_json(text, {"break_even_ssd_tokens"}) ||
         looks_like_json(text, {"break_even_mem_tokens"}) ||
         looks_like_json(text, {"g_ssd", "g_mem"});
}

void read_pykvcache(std::string_view text, const std::string& origin, Import& import) {
  const json file = model::parse_json(text, origin);
  if (!file.is_object()) refuse_import(origin, "must be a JSON object");
  if (const auto name = file.find("model_name"); name != file.end() && name->is_string())
    import.model = printable(name->get<std::string>());
  if (const auto gpu = file.find("gpu_model"); gpu != file.end() && gpu->is_string())
    import.device = printable(gpu->get<std::string>());
  if (file.contains("kv_bytes_per_token") && !file["kv_bytes_per_token"].is_null())
    import.kv_bytes_per_token = tokens_at(file, "kv_bytes_per_token", 1, origin);
  const std::int64_t margin = file.contains("safety_margin_tokens")
                                  ? tokens_at(file, "safety_margin_tokens", 0, origin)
                                  : 0;
  for (const auto& [key, tier] : thresholds) {
    if (!file.contains(key)) continue;
    const std::int64_t tokens = tokens_at(file, key, 0, origin);
    import.thresholds[tier] = tokens > 0 ? tokens + margin : 0;
  }
  const auto curves = file.find("curves");
  if (curves == file.end() || curves->is_null()) return;
  if (!curves->is_object()) refuse_import(origin, "'curves' must be an object");
  for (const auto& [tokens, seconds] : knots(*curves, "f", origin))
    if (tokens > 0 && is_time(seconds)) import.add(0, tokens, seconds);
  for (const auto& [name, tier] : load_curves)
    import.loads[tier] = knots(*curves, name, origin);
}

} // namespace breakeven::predict
