#include "model/families/families.hpp"

#include <string_view>

namespace breakeven::model {
namespace {

struct Row {
  const char* family;
  Reader* read;
  std::string_view model_types; ///< separated by blanks
};

// One line per reader. The model_types of a multimodal model and of its text part both belong here.
constexpr Row rows[] = {
    {"llama", read_llama, "llama Yi yi aquila xverse skywork"},
    {"mistral", read_mistral, "mistral"},
    {"ministral", read_ministral, "ministral"},
    {"ministral3", read_ministral3, "ministral3"},
    {"cwm", read_cwm, "cwm"},
    {"mixtral", read_mixtral, "mixtral"},
    {"llama4", read_llama4, "llama4 llama4_text"},
    {"arctic", read_arctic, "arctic"},
    {"internlm", read_internlm, "internlm"},
    {"internlm2", read_internlm2, "internlm2"},
    {"internlm3", read_internlm3, "internlm3"},
    {"baichuan", read_baichuan, "baichuan"},
    {"minicpm", read_minicpm, "minicpm minicpm4"},
    {"smollm3", read_smollm3, "smollm3"},
    {"seed_oss", read_seed_oss, "seed_oss"},
    {"exaone", read_exaone, "exaone"},
    {"exaone4", read_exaone4, "exaone4"},
    {"exaone_moe", read_exaone_moe, "exaone_moe"},
    {"arcee", read_arcee, "arcee"},
    {"apertus", read_apertus, "apertus"},
    {"ernie", read_ernie, "ernie4_5"},
    {"ernie_moe", read_ernie_moe, "ernie4_5_moe"},
    {"hunyuan", read_hunyuan_dense, "hunyuan_v1_dense"},
    {"hunyuan_moe", read_hunyuan_moe, "hunyuan_v1_moe hunyuan"},
    {"qwen", read_qwen, "qwen"},
    {"qwen2", read_qwen2, "qwen2 qwen2_audio mimo"},
    {"qwen2", read_qwen2_vl, "qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text"},
    {"qwen3", read_qwen3, "qwen3 qwen3_vl qwen3_vl_text"},
    {"qwen2_moe", read_qwen2_moe, "qwen2_moe"},
    {"qwen3_moe", read_qwen3_moe, "qwen3_moe qwen3_omni_moe_text"},
    {"qwen3_moe", read_qwen3_vl_moe, "qwen3_vl_moe qwen3_vl_moe_text"},
    {"qwen3_next", read_qwen3_next, "qwen3_next"},
    {"qwen3_5", read_qwen3_5, "qwen3_5 qwen3_5_text"},
    {"qwen3_5_moe", read_qwen3_5_moe, "qwen3_5_moe qwen3_5_moe_text"},
    {"olmo_hybrid", read_olmo_hybrid, "olmo_hybrid"},
    {"gemma", read_gemma, "gemma"},
    {"gemma2", read_gemma2, "gemma2"},
    {"gemma3", read_gemma3, "gemma3 gemma3_text"},
    {"gemma3n", read_gemma3n, "gemma3n gemma3n_text"},
    {"gemma4", read_gemma4, "gemma4 gemma4_text"},
    {"gpt2", read_gpt2, "gpt2"},
    {"gpt_bigcode", read_gpt_bigcode, "gpt_bigcode"},
    {"gptj", read_gptj, "gptj codegen"},
    {"gpt_neo", read_gpt_neo, "gpt_neo"},
    {"gpt_neox", read_gpt_neox, "gpt_neox"},
    {"gpt_oss", read_gpt_oss, "gpt_oss"},
    {"opt", read_opt, "opt"},
    {"bloom", read_bloom, "bloom"},
    {"mpt", read_mpt, "mpt"},
    {"falcon", read_falcon, "falcon RefinedWeb RefinedWebModel"},
    {"starcoder2", read_starcoder2, "starcoder2"},
    {"stablelm", read_stablelm, "stablelm stablelm_epoch"},
    {"nemotron", read_nemotron, "nemotron"},
    {"phi", read_phi, "phi"},
    {"phi_msft", read_phi_msft, "phi-msft mixformer-sequential"},
    {"phi3", read_phi3, "phi3 phi3_v phi4mm phi4_multimodal"},
    {"phimoe", read_phimoe, "phimoe"},
    {"olmo", read_olmo, "olmo"},
    {"olmo2", read_olmo2, "olmo2"},
    {"olmo3", read_olmo3, "olmo3"},
    {"olmoe", read_olmoe, "olmoe"},
    {"cohere", read_cohere, "cohere"},
    {"cohere2", read_cohere2, "cohere2"},
    {"dbrx", read_dbrx, "dbrx"},
    {"deepseek", read_deepseek, "deepseek"},
    {"deepseek_v2", read_deepseek_v2, "deepseek_v2"},
    {"deepseek_v3", read_deepseek_v3, "deepseek_v3 kimi_k2 kimi_k25"},
    {"deepseek_v32", read_deepseek_v32, "deepseek_v32"},
    {"deepseek_v4", refuse_deepseek_v4, "deepseek_v4"},
    {"glm_moe_dsa", read_glm_moe_dsa, "glm_moe_dsa"},
    {"glm4_moe_lite", read_glm4_moe_lite, "glm4_moe_lite"},
    {"minicpm3", read_minicpm3, "minicpm3"},
    {"mistral4", read_mistral4, "mistral4"},
    {"chatglm", read_chatglm, "chatglm"},
    {"glm", read_glm, "glm"},
    {"glm4", read_glm4, "glm4 glm4v glm4v_text"},
    {"glm4_moe", read_glm4_moe, "glm4_moe glm4v_moe glm4v_moe_text"},
    {"dots1", read_dots1, "dots1"},
    {"granite", read_granite, "granite"},
    {"granitemoe", read_granitemoe, "granitemoe granitemoeshared"},
    {"granitemoehybrid", read_granitemoehybrid, "granitemoehybrid"},
    {"minimax_m2", read_minimax_m2, "minimax_m2"},
    {"minimax_m3", read_minimax_m3, "minimax_m3 minimax_m3_vl minimax_m3_vl_text"},
    {"mimo_v2", read_mimo_v2, "mimo_v2_flash mimo_v2"},
    {"step3p5", read_step3p5, "step3p5 step3p7"},
    {"bailing_moe", read_bailing_moe, "bailing_moe bailing_moe_v2"},
    {"mamba", read_mamba, "mamba"},
    {"falcon_mamba", read_falcon_mamba, "falcon_mamba"},
    {"mamba2", read_mamba2, "mamba2"},
    {"jamba", read_jamba, "jamba"},
    {"bamba", read_bamba, "bamba"},
    {"falcon_h1", read_falcon_h1, "falcon_h1"},
    {"zamba", read_zamba, "zamba"},
    {"zamba2", read_zamba2, "zamba2"},
    {"nemotron_h", read_nemotron_h, "nemotron_h"},
    {"nemotron_nas", read_nemotron_nas, "nemotron-nas nemotron_nas deci"},
    {"lfm2", read_lfm2, "lfm2 lfm2_moe"},
    {"minimax", read_minimax, "minimax minimax_text_01 minimax_m1"},
    {"kimi_linear", read_kimi_linear, "kimi_linear kimi_k3 kimi_k3_text"},
    {"bailing_linear", read_bailing_linear, "bailing_moe_linear bailing_moe_v2_5 bailing_hybrid"},
    {"rwkv", refuse_rwkv, "rwkv rwkv5 rwkv6 rwkv7"},
};

} // namespace

const registry<Family>& families() {
  static const registry<Family> table = [] {
    registry<Family> result("model_type");
    for (const Row& row : rows)
      for (std::string_view rest = row.model_types; !rest.empty();) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        result.add(std::string(rest.substr(0, end)), {row.family, row.read});
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    return result;
  }();
  return table;
}

} // namespace breakeven::model
