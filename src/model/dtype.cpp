#include "model/dtype.hpp"

#include "support/error.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace breakeven::model {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, 28> names{{
    {"bfloat16", DType::bf16},
    {"bf16", DType::bf16},
    {"float16", DType::fp16},
    {"fp16", DType::fp16},
    {"half", DType::fp16},
    {"f16", DType::fp16},
    {"float32", DType::fp32},
    {"fp32", DType::fp32},
    {"float", DType::fp32},
    {"f32", DType::fp32},
    {"fp8", DType::fp8},
    {"float8", DType::fp8},
    {"fp8_e4m3", DType::fp8},
    {"fp8_e5m2", DType::fp8},
    {"fp8_inc", DType::fp8},
    {"fp8_ds_mla", DType::fp8},
    {"float8_e4m3fn", DType::fp8},
    {"float8_e5m2", DType::fp8},
    {"float8_e4m3fnuz", DType::fp8},
    {"f8", DType::fp8},
    {"int8", DType::int8},
    {"uint8", DType::int8},
    {"int4", DType::int4},
    {"uint4", DType::int4},
    {"mxfp4", DType::mxfp4},
    {"nvfp4", DType::nvfp4},
    {"fp4", DType::nvfp4},
    {"fp8_per_token_head", DType::fp8},
}};

/// {"num_bits": 8, "type": "float"} as compressed-tensors and ModelOpt write it.
std::optional<DType> scheme_type(const Config& scheme) {
  const std::int64_t bits = scheme.size("num_bits", 0);
  const bool is_float = scheme.text("type", "int") == "float";
  if (bits == 8) return is_float ? DType::fp8 : DType::int8;
  if (bits == 4) return is_float ? DType::nvfp4 : DType::int4;
  if (bits == 16) return DType::bf16;
  return std::nullopt;
}

/// ModelOpt's names of algorithms: "FP8", "NVFP4", "W4A16_AWQ", "W4A8_MXFP4_FP8", "INT8".
std::optional<DType> algorithm_type(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (const auto exact = dtype_named(name)) return exact;
  const auto holds = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (holds("mxfp4")) return DType::mxfp4;
  if (holds("nvfp4")) return DType::nvfp4;
  if (name.rfind("w4", 0) == 0) return DType::int4;
  if (holds("fp8")) return DType::fp8;
  if (holds("int8") || name.rfind("w8", 0) == 0) return DType::int8;
  return std::nullopt;
}

std::optional<DType> quantised_weights(const Config& quantisation) {
  const std::string method = quantisation.text("quant_method", "");
  if (method == "fp8" || method == "mxfp4") return dtype_named(method);
  if (quantisation.has("bits|w_bit"))
    return quantisation.count("bits|w_bit") == 8 ? DType::int8 : DType::int4;
  if (quantisation.flag("load_in_4bit|_load_in_4bit", false)) return DType::int4;
  if (quantisation.flag("load_in_8bit|_load_in_8bit", false)) return DType::int8;
  if (const auto groups = quantisation.object("config_groups"))
    if (const auto first = groups->object("group_0"))
      if (const auto weights = first->object("weights")) return scheme_type(*weights);
  return algorithm_type(quantisation.text("quant_algo", ""));
}

/// KV cache type that a quantisation section asks for, if it does.
std::optional<DType> quantised_kv(const Config& section) {
  const nlohmann::json* scheme = section.find("kv_cache_scheme");
  if (scheme != nullptr && scheme->is_object()) {
    if (const auto type = scheme_type(*section.object("kv_cache_scheme"))) return type;
    section.refuse("'" + section.prefix() + "kv_cache_scheme' names an unknown element type");
  }
  const std::string name =
      section.text(scheme != nullptr ? "kv_cache_scheme" : "kv_cache_quant_algo", "");
  if (name.empty()) return std::nullopt;
  if (const auto type = algorithm_type(name)) return type;
  section.refuse("the KV cache type '" + printable(name) + "' is not known");
}

std::string stated_dtype(const Config& config) {
  std::string name = config.text("dtype|torch_dtype", "");
  return name == "auto" ? "" : name;
}

} // namespace

std::optional<DType> dtype_named(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name.rfind("torch.", 0) == 0) name.erase(0, 6);
  for (const auto& [known, type] : names)
    if (known == name) return type;
  return std::nullopt;
}

DType parse_dtype(const std::string& name, const std::string& where) {
  if (const auto type = dtype_named(name)) return *type;
  throw error(error_kind::bad_input,
              printable(where) + ": the element type '" + printable(name) + "' is not known");
}

ElementTypes read_element_types(const Config& text, const Config& outer,
                                const std::optional<Config>& side_file) {
  ElementTypes types;
  std::string name = stated_dtype(text);
  if (name.empty()) name = stated_dtype(outer);
  types.stated = !name.empty();
  if (types.stated) types.activations = parse_dtype(name, text.where());
  // A file whose dtype is that of its quantised weights still computes in 16 bit.
  if (bits_of(types.activations) < 16) {
    types.weights = types.activations;
    types.activations = DType::bf16;
  } else {
    types.weights = types.activations;
  }
  types.kv = types.activations;
  std::vector<Config> sections;
  for (const Config* config : {&text, &outer})
    if (const auto section = config->object("quantization_config")) sections.push_back(*section);
  if (side_file)
    if (const auto section = side_file->object("quantization")) sections.push_back(*section);
  for (auto section = sections.rbegin(); section != sections.rend(); ++section) {
    if (const auto weights = quantised_weights(*section)) types.weights = *weights;
    if (const auto kv = quantised_kv(*section)) types.kv = *kv;
  }
  return types;
}

} // namespace breakeven::model
