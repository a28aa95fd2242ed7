#include "model/gguf_config.hpp"

#include "support/error.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace breakeven::model {
namespace {

using nlohmann::json;

/// llama.cpp's general.architecture -> model_type (its gguf-py/gguf/constants.py names both).
constexpr std::array<std::pair<std::string_view, const char*>, 44> architectures{{
    {"llama", "llama"},
    {"mistral3", "ministral3"},
    {"qwen", "qwen"},
    {"qwen2", "qwen2"},
    {"qwen2vl", "qwen2"},
    {"qwen3", "qwen3"},
    {"qwen3vl", "qwen3"},
    {"qwen2moe", "qwen2_moe"},
    {"qwen3moe", "qwen3_moe"},
    {"qwen3vlmoe", "qwen3_moe"},
    {"gemma", "gemma"},
    {"gemma2", "gemma2"},
    {"gemma3", "gemma3_text"},
    {"gpt2", "gpt2"},
    {"gptj", "gptj"},
    {"gptneox", "gpt_neox"},
    {"starcoder", "gpt_bigcode"},
    {"starcoder2", "starcoder2"},
    {"bloom", "bloom"},
    {"mpt", "mpt"},
    {"falcon", "falcon"},
    {"phi2", "phi"},
    {"phi3", "phi3"},
    {"phimoe", "phimoe"},
    {"olmo", "olmo"},
    {"olmo2", "olmo2"},
    {"olmoe", "olmoe"},
    {"command-r", "cohere"},
    {"cohere2", "cohere2"},
    {"stablelm", "stablelm"},
    {"internlm2", "internlm2"},
    {"baichuan", "baichuan"},
    {"deepseek", "deepseek"},
    {"deepseek2", "deepseek_v3"},
    {"glm4", "glm4"},
    {"glm4moe", "glm4_moe"},
    {"gpt-oss", "gpt_oss"},
    {"granite", "granite"},
    {"granitemoe", "granitemoe"},
    {"exaone", "exaone"},
    {"minicpm", "minicpm"},
    {"smollm3", "smollm3"},
    {"seed_oss", "seed_oss"},
    {"nemotron", "nemotron"},
}};

class Translator {
public:
  Translator(const GgufFile& file, std::string where) : m_file(file), m_where(std::move(where)) {}

  json run() {
    const auto named = m_file.texts.find("general.architecture");
    if (named == m_file.texts.end()) refuse("the GGUF metadata has no 'general.architecture'");
    m_architecture = named->second;
    const char* type = nullptr;
    for (const auto& [name, model_type] : architectures)
      if (name == m_architecture) type = model_type;
    if (type == nullptr)
      refuse("the GGUF architecture '" + printable(m_architecture) + "' is not known");
    m_config["model_type"] = type;
    common();
    experts();
    latent();
    windows();
    tensors();
    types();
    return m_config;
  }

private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw error(error_kind::bad_input, printable(m_where) + ": " + what);
  }

  /// The metadata value as a number; a list is one when all its entries agree.
  const std::int64_t* find(const std::string& key) {
    const std::string full = m_architecture + "." + key;
    if (const auto at = m_file.numbers.find(full); at != m_file.numbers.end()) return &at->second;
    const auto list = m_file.lists.find(full);
    if (list == m_file.lists.end() || list->second.empty()) return nullptr;
    for (const std::int64_t n : list->second)
      if (n != list->second.front())
        refuse(std::string("'") + printable(full) +
               "' differs between layers, which is not read from GGUF; give "
               "the model's config.json");
    return &list->second.front();
  }

  void copy(const char* from, const char* to) {
    if (const std::int64_t* value = find(from)) m_config[to] = *value;
  }

  void common() {
    copy("block_count", "num_hidden_layers");
    copy("embedding_length", "hidden_size");
    copy("feed_forward_length", "intermediate_size");
    copy("attention.head_count", "num_attention_heads");
    copy("attention.head_count_kv", "num_key_value_heads");
    copy("attention.key_length", "head_dim");
    copy("context_length", "max_position_embeddings");
    copy("vocab_size", "vocab_size");
    const auto tokens = m_file.lengths.find("tokenizer.ggml.tokens");
    if (!m_config.contains("vocab_size") && tokens != m_file.lengths.end())
      m_config["vocab_size"] = tokens->second;
    const std::int64_t* keys = find("attention.key_length");
    const std::int64_t* values = find("attention.value_length");
    if (keys != nullptr && values != nullptr && *keys != *values &&
        find("attention.kv_lora_rank") == nullptr)
      refuse(
          "keys and values of different size are not read from GGUF; give the model's config.json");
    if (m_architecture == "falcon" && find("attention.head_count_kv") != nullptr) {
      m_config["multi_query"] = *find("attention.head_count_kv") == 1;
      m_config["n_head_kv"] = *find("attention.head_count_kv");
      m_config["new_decoder_architecture"] = *find("attention.head_count_kv") > 1;
    }
    if (m_architecture == "starcoder")
      m_config["multi_query"] =
          find("attention.head_count_kv") == nullptr || *find("attention.head_count_kv") == 1;
  }

  void experts() {
    if (find("expert_count") == nullptr || *find("expert_count") == 0) return;
    if (m_architecture == "llama") m_config["model_type"] = "mixtral";
    m_config["num_experts"] = *find("expert_count");
    copy("expert_used_count", "num_experts_per_tok");
    copy("expert_feed_forward_length", "moe_intermediate_size");
    copy("expert_shared_feed_forward_length", "shared_expert_intermediate_size");
    copy("leading_dense_block_count", "first_k_dense_replace");
    copy("expert_shared_count", "n_shared_experts");
  }

  void latent() {
    if (find("attention.kv_lora_rank") == nullptr) {
      if (m_architecture == "deepseek2")
        refuse("the GGUF metadata has no 'attention.kv_lora_rank'");
      return;
    }
    // 1 = softmax gating, as in DeepSeek V2 and before the score correction of V3.
    if (const std::int64_t* gate = find("expert_gating_func"); gate != nullptr && *gate == 1)
      m_config["model_type"] = "deepseek_v2";
    copy("attention.kv_lora_rank", "kv_lora_rank");
    m_config["q_lora_rank"] = nullptr;
    copy("attention.q_lora_rank", "q_lora_rank");
    copy("rope.dimension_count", "qk_rope_head_dim");
    // Newer files give the sizes of the decompressed heads apart, older ones as the heads' own.
    const bool apart = find("attention.key_length_mla") != nullptr;
    const std::int64_t* keys = find(apart ? "attention.key_length_mla" : "attention.key_length");
    const std::int64_t* rope = find("rope.dimension_count");
    if (keys == nullptr || rope == nullptr || *keys <= *rope)
      refuse("the GGUF metadata does not give the latent attention's head sizes");
    m_config["qk_nope_head_dim"] = *keys - *rope;
    copy(apart ? "attention.value_length_mla" : "attention.value_length", "v_head_dim");
    m_config.erase("head_dim");
  }

  void windows() {
    const std::int64_t* window = find("attention.sliding_window");
    m_config["sliding_window"] = nullptr;
    if (window == nullptr || *window == 0) return;
    m_config["sliding_window"] = *window;
    const auto pattern = m_file.lists.find(m_architecture + ".attention.sliding_window_pattern");
    if (pattern == m_file.lists.end()) return;
    json kinds = json::array();
    for (const std::int64_t slides : pattern->second)
      kinds.push_back(slides != 0 ? "sliding_attention" : "full_attention");
    m_config["layer_types"] = kinds;
  }

  void tensors() {
    const auto count = m_file.numbers.find("split.count");
    const bool whole = count == m_file.numbers.end() || count->second <= 1;
    if (m_file.tensors.empty() || !whole) return; // the other parts are elsewhere
    m_config["tie_word_embeddings"] = m_file.tensors.count("output.weight") == 0;
    const bool bias = m_file.tensors.count("blk.0.attn_q.bias") > 0;
    m_config["attention_bias"] = bias;
    m_config["bias"] = bias || m_file.tensors.count("blk.0.attn_qkv.bias") > 0;
    if (m_file.tensors.count("blk.0.attn_q_norm.weight") > 0) m_config["use_qk_norm"] = true;
  }

  /// llama.cpp computes and caches in 16 bit unless told otherwise, whatever the weights.
  void types() {
    m_config["torch_dtype"] = "float16";
    const auto kind = m_file.numbers.find("general.file_type");
    if (kind == m_file.numbers.end()) return;
    constexpr std::array<std::int64_t, 3> plain = {0, 1, 32}; // F32, F16, BF16
    if (std::find(plain.begin(), plain.end(), kind->second) != plain.end()) return;
    m_config["quantization_config"] = {{"quant_method", "gguf"},
                                       {"bits", kind->second == 7 ? 8 : 4}};
  }

  const GgufFile& m_file;
  std::string m_where;
  std::string m_architecture;
  json m_config = json::object();
};

} // namespace

json gguf_config(const GgufFile& file, const std::string& where) {
  return Translator(file, where).run();
}

} // namespace breakeven::model
