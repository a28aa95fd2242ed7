#pragma once

#include "model/decoder.hpp"

namespace breakeven::model {

// One reader per group of architectures; families.cpp says which model_type goes to which.
using Reader = void(const Config& config, Draft& draft);

Reader read_llama, read_mistral, read_ministral, read_ministral3, read_cwm, read_mixtral,
    read_llama4, read_arctic;
Reader read_internlm, read_internlm2, read_internlm3, read_baichuan, read_minicpm, read_smollm3,
    read_seed_oss, read_exaone, read_exaone4, read_arcee, read_apertus, read_ernie,
    read_hunyuan_dense;
Reader read_qwen, read_qwen2, read_qwen2_vl, read_qwen3_vl_moe, read_qwen3, read_qwen2_moe,
    read_qwen3_moe, read_qwen3_next, read_qwen3_5, read_qwen3_5_moe, read_olmo_hybrid;
Reader read_gemma, read_gemma2, read_gemma3, read_gemma3n, read_gemma4;
Reader read_gpt2, read_gpt_bigcode, read_gptj, read_gpt_neo, read_gpt_neox, read_opt, read_bloom,
    read_mpt, read_falcon, read_starcoder2, read_stablelm, read_nemotron;
Reader read_phi, read_phi_msft, read_phi3, read_phimoe;
Reader read_olmo, read_olmo2, read_olmo3, read_olmoe;
Reader read_cohere, read_cohere2, read_dbrx;
Reader read_deepseek, read_deepseek_v2, read_deepseek_v3, read_deepseek_v32, read_glm_moe_dsa,
    read_glm4_moe_lite, read_minicpm3, read_mistral4;
Reader read_chatglm, read_glm, read_glm4, read_glm4_moe, read_dots1;
Reader read_granite, read_granitemoe, read_granitemoehybrid;
Reader read_ernie_moe, read_hunyuan_moe, read_minimax_m2, read_minimax_m3, read_mimo_v2,
    read_step3p5, read_gpt_oss, read_exaone_moe, read_bailing_moe;
Reader read_mamba, read_falcon_mamba, read_mamba2, read_jamba, read_bamba, read_falcon_h1,
    read_zamba, read_zamba2, read_nemotron_h, read_nemotron_nas, read_lfm2;
Reader read_minimax, read_kimi_linear, read_bailing_linear;
Reader refuse_deepseek_v4, refuse_rwkv;

} // namespace breakeven::model
