#include "model/read.hpp"
#include "model/architecture.hpp"
#include "model/bundled.hpp"
#include "model/draft.hpp"
#include "model/gguf_config.hpp"
#include "model/json_text.hpp"
#include "model/text_model.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

namespace breakeven::model {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A config and where it was found.
struct Found {
  std::string name, source;
  std::string where;      ///< as errors name it
  json config, side_file; ///< side_file is null when there is none
};

/// ModelOpt's side file of DIR/config.json is DIR/hf_quant_config.json; that of a config kept
/// under another name, X.json, is X.hf_quant_config.json.
fs::path side_path(const fs::path& config) {
  if (config.filename() == "config.json") return config.parent_path() / "hf_quant_config.json";
  return config.parent_path() / (config.stem().string() + ".hf_quant_config.json");
}

std::string name_of(const fs::path& config) {
  if (config.filename() != "config.json") return config.stem().string();
  const fs::path folder = fs::absolute(config).lexically_normal().parent_path();
  return folder.filename().string();
}

Found read_file(const fs::path& path) {
  Found found;
  found.source = found.where = path.string();
  found.name = name_of(path);
  std::error_code failure;
  if (fs::is_regular_file(path, failure) && is_gguf(path.string())) {
    found.config = gguf_config(read_gguf(path.string()), path.string());
    return found;
  }
  found.config = parse_json(read_text_file(path.string(), max_json_bytes), path.string());
  const fs::path side = side_path(path);
  std::error_code ignored;
  if (fs::exists(side, ignored))
    found.side_file = parse_json(read_text_file(side.string(), max_json_bytes), side.string());
  return found;
}

std::optional<Found> read_bundled(const std::string& name) {
  for (const auto& [known, text] : bundled_configs()) {
    if (known != name) continue;
    Found found;
    found.name = name;
    found.where = "bundled model " + name;
    found.config = parse_json(text, found.where);
    found.source = found.config.value("_source", "bundled");
    return found;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_name(const std::string& name) {
  std::string wanted = name.substr(name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string near = nearest_name(wanted, bundled_models());
  throw error(error_kind::usage,
              "'" + printable(name) + "' is neither a file or folder nor a bundled model" +
                  (near.empty() ? "" : ", did you mean '" + near + "'?") +
                  " `breakeven model --list` shows the bundled ones; for any other give its "
                  "config.json");
}

Found locate(const std::string& name_or_path) {
  if (auto bundled = read_bundled(name_or_path)) return *bundled;
  std::error_code failure;
  const fs::path path(name_or_path);
  if (name_or_path.empty() || name_or_path.find('\0') != std::string::npos ||
      !fs::exists(path, failure))
    refuse_name(name_or_path);
  if (!fs::is_directory(path, failure)) return read_file(path);
  if (!fs::exists(path / "config.json", failure))
    throw error(error_kind::bad_input,
                printable(name_or_path) + ": the folder holds no config.json");
  return read_file(path / "config.json");
}

/// A first Architecture with all that does not depend on the family.
Architecture start(const Found& found, const ElementTypes& types) {
  Architecture model;
  model.name = printable(found.name);
  model.source = printable(found.source);
  model.weight_dtype = types.weights;
  model.activation_dtype = types.activations;
  model.kv_dtype = types.kv;
  model.index_dtype = types.activations;
  if (!types.stated)
    model.assumptions.push_back("The file names no element type: activations and, where nothing "
                                "else says so, the KV cache are taken as 16 bit (bf16).");
  if (types.stated && types.kv == DType::fp32)
    model.assumptions.push_back("The file says 32-bit floats, so the KV cache is counted in 32 "
                                "bit; engines that serve it in 16 bit need --kv-dtype bf16.");
  return model;
}

Architecture run_reader(const TextModel& text, const Config& whole, Architecture model,
                        std::int64_t ranks) {
  Draft draft(text.config, whole, std::move(model), Ranks{ranks});
  text.family->read(text.config, draft);
  return draft.finish();
}

void apply_kv_dtype(Architecture& model, const std::string& name) {
  if (name.empty() || name == "auto") return;
  const auto type = dtype_named(name);
  if (!type)
    throw error(error_kind::usage, "--kv-dtype '" + printable(name) +
                                       "' is not known: bf16, fp16, fp32, fp8, int8, int4, nvfp4, "
                                       "mxfp4 or auto");
  model.kv_dtype = *type;
  model.overrides.push_back("kv_dtype=" + to_string(*type) + " (--kv-dtype)");
}

void expand_mla(Architecture& model) {
  bool any = false;
  for (LayerKind& kind : model.kinds) {
    if (kind.attention.kind != AttentionKind::mla) continue;
    kind.attention.kind = AttentionKind::full;
    kind.attention.kv_heads = kind.attention.heads;
    any = true;
  }
  if (!any)
    throw error(error_kind::usage,
                "--mla expanded: " + model.name + " has no multi-head latent attention layers");
  model.overrides.push_back("mla=expanded (--mla): keys and values are cached decompressed");
}

void apply(Architecture& model, const ReadOptions& options) {
  apply_kv_dtype(model, options.kv_dtype);
  if (options.mla_expanded) expand_mla(model);
  if (options.kv_bytes_per_token < 0)
    throw error(error_kind::usage, "--kv-bytes-per-token must not be negative");
  if (options.kv_bytes_per_token > 0) {
    model.kv_bytes_per_token_override = options.kv_bytes_per_token;
    model.overrides.push_back("kv_bytes_per_token=" + std::to_string(options.kv_bytes_per_token) +
                              " (--kv-bytes-per-token)");
  }
}

} // namespace

namespace {

Architecture read_found(const Found& found, const ReadOptions& options) {
  if (options.tensor_parallel < 1) throw error(error_kind::usage, "--tp must be at least 1");
  const Config whole(found.config, found.where);
  std::optional<Config> side;
  if (!found.side_file.is_null()) side.emplace(found.side_file, found.where + " (side file)");
  const TextModel text = find_text_model(whole);
  const ElementTypes types = read_element_types(text.config, whole, side);
  Architecture base = start(found, types);
  base.family = text.family->name;
  Architecture model = run_reader(text, whole, base, 1);
  if (options.tensor_parallel > 1) {
    Architecture rank = run_reader(text, whole, base, options.tensor_parallel);
    rank.parameters = model.parameters;
    rank.active_parameters = model.active_parameters;
    rank.tensor_parallel = options.tensor_parallel;
    model = std::move(rank);
  }
  apply(model, options);
  return model;
}

} // namespace

Architecture read_architecture(const std::string& name_or_path, const ReadOptions& options) {
  return read_found(locate(name_or_path), options);
}

Architecture read_architecture_text(std::string_view text, const std::string& where,
                                    const ReadOptions& options) {
  Found found;
  found.name = found.source = found.where = where;
  found.config = text.substr(0, 4) == "GGUF" ? gguf_config(read_gguf_bytes(text, where), where)
                                             : parse_json(text, where);
  return read_found(found, options);
}

std::vector<std::string> bundled_models() {
  std::vector<std::string> names;
  for (const auto& [name, text] : bundled_configs())
    names.emplace_back(name);
  return names;
}

} // namespace breakeven::model
