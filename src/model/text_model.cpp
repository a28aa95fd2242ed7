#include "model/text_model.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace breakeven::model {
namespace {

constexpr const char* layer_keys = "num_hidden_layers|n_layer|num_layers|n_layers";
constexpr const char* nested_keys = "text_config|llm_config|language_config|thinker_config";

/// Multimodal model_types whose text_config may leave out its own model_type: the library's
/// default.
constexpr std::array<std::pair<std::string_view, const char*>, 12> wrapped{{
    {"llava", "llama"},
    {"llava_next", "llama"},
    {"llava_next_video", "llama"},
    {"llava_onevision", "qwen2"},
    {"vipllava", "llama"},
    {"video_llava", "llama"},
    {"mistral3", "mistral"},
    {"paligemma", "gemma"},
    {"idefics2", "mistral"},
    {"idefics3", "llama"},
    {"aya_vision", "cohere2"},
    {"internvl", "qwen2"},
}};

/// "Qwen3MoeForCausalLM" and "qwen3_moe" become the same word.
std::string squeeze(std::string_view text) {
  for (const std::string_view tail :
       {"ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "Model"}) {
    if (text.size() <= tail.size() || text.substr(text.size() - tail.size()) != tail) continue;
    text.remove_suffix(tail.size());
    break;
  }
  std::string result;
  for (const char c : text)
    if (c != '_' && c != '-' && c != '.')
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// The registered model_type that a class name stands for, or "".
std::string type_of_class(const Config& config) {
  if (config.find("architectures") == nullptr || !config.find("architectures")->is_array())
    return "";
  for (const std::string& name : config.texts("architectures"))
    for (const auto& [type, family] : families().rows())
      if (squeeze(name) == squeeze(type)) return type;
  return "";
}

Config text_part(const Config& whole) {
  const nlohmann::json* nested = whole.find(nested_keys);
  if (nested == nullptr || !nested->is_object()) return whole;
  const Config part = *whole.object(nested_keys);
  if (part.has(nested_keys)) return text_part(part); // thinker_config.text_config
  const bool own = part.has(layer_keys) || part.has("model_type");
  return own || !whole.has(layer_keys) ? part : whole;
}

std::string type_of(const Config& part, const Config& whole) {
  std::string type = part.text("model_type", "");
  if (type.empty()) type = type_of_class(part);
  if (!type.empty()) return type;
  type = whole.text("model_type", "");
  for (const auto& [wrapper, inner] : wrapped)
    if (wrapper == type) return inner;
  return type.empty() ? type_of_class(whole) : type;
}

} // namespace

TextModel find_text_model(const Config& whole) {
  const Config part = text_part(whole);
  const std::string type = type_of(part, whole);
  if (type.empty()) {
    if (!whole.has("architectures|model_type"))
      whole.refuse("neither 'model_type' nor 'architectures' says what kind of model this is");
    whole.refuse("'model_type' is missing and none of 'architectures' is known");
  }
  const Family* family = families().find(type);
  if (family == nullptr) {
    const std::string message = "model_type '" + printable(type) + "' is not known";
    const std::string near = nearest_name(type, families().names());
    whole.refuse(message + (near.empty() ? "" : " (nearest: '" + near + "')") +
                 "; its layers cannot be told from the file");
  }
  return {part, type, family};
}

} // namespace breakeven::model
