#include "model/describe.hpp"

#include "support/checked.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace breakeven::model {
namespace {

using nlohmann::ordered_json;

ordered_json when(bool applies, std::int64_t value) {
  return applies ? ordered_json(value) : ordered_json(nullptr);
}

ordered_json attention_json(const AttentionSpec& spec) {
  if (spec.kind == AttentionKind::none) return nullptr;
  ordered_json json = {{"kind", to_string(spec.kind)},
                       {"heads", spec.heads},
                       {"kv_heads", when(spec.kind != AttentionKind::mla, spec.kv_heads)},
                       {"qk_head_dim", spec.qk_head_dim},
                       {"v_head_dim", spec.v_head_dim},
                       {"window_tokens", when(spec.window_tokens > 0, spec.window_tokens)},
                       {"kv_elements_per_token", spec.kv_elements_per_token()},
                       {"shares_earlier_cache", spec.kv_shared}};
  if (spec.kv_lora_rank > 0) {
    json["q_lora_rank"] = when(spec.q_lora_rank > 0, spec.q_lora_rank);
    json["kv_lora_rank"] = spec.kv_lora_rank;
    json["qk_nope_head_dim"] = spec.qk_nope_head_dim;
    json["qk_rope_head_dim"] = spec.qk_rope_head_dim;
  }
  if (spec.index_head_dim > 0) {
    json["index_heads"] = spec.index_heads;
    json["index_head_dim"] = spec.index_head_dim;
    json["index_topk"] = spec.index_topk;
  }
  return json;
}

ordered_json state_json(const StateSpec& spec) {
  if (spec.kind == StateKind::none) return nullptr;
  return {{"kind", to_string(spec.kind)},        {"heads", spec.heads},
          {"key_heads", spec.key_heads},         {"head_dim", spec.head_dim},
          {"state_dim", spec.state_dim},         {"conv_kernel", spec.conv_kernel},
          {"conv_channels", spec.conv_channels}, {"bytes", spec.bytes}};
}

ordered_json mlp_json(const MlpSpec& spec) {
  if (spec.kind == MlpKind::none) return nullptr;
  ordered_json json = {
      {"kind", to_string(spec.kind)}, {"intermediate", spec.intermediate}, {"gated", spec.gated}};
  if (spec.kind == MlpKind::moe) {
    json["experts"] = spec.experts;
    json["experts_per_token"] = spec.experts_per_token;
    json["shared_intermediate"] = spec.shared_intermediate;
  }
  return json;
}

ordered_json gemms_json(const std::vector<Gemm>& gemms) {
  ordered_json list = ordered_json::array();
  for (const Gemm& gemm : gemms)
    list.push_back({{"name", gemm.name},
                    {"k", gemm.k},
                    {"n", gemm.n},
                    {"rows", gemm.rows == GemmRows::all_tokens ? "all_tokens" : "routed_tokens"},
                    {"count", gemm.count},
                    {"active_count", gemm.active_count}});
  return list;
}

ordered_json kinds_json(const Architecture& model) {
  ordered_json list = ordered_json::array();
  for (const LayerKind& kind : model.kinds)
    list.push_back({{"name", kind.name},
                    {"count", kind.count},
                    {"attention", attention_json(kind.attention)},
                    {"state", state_json(kind.state)},
                    {"mlp", mlp_json(kind.mlp)},
                    {"parameters", kind.parameters},
                    {"active_parameters", kind.active_parameters},
                    {"gemms", gemms_json(kind.gemms)}});
  return list;
}

ordered_json flops_json(const Architecture& model, const std::vector<std::int64_t>& lengths) {
  ordered_json attention = ordered_json::object(), prefill = ordered_json::object();
  const double linear = 2.0 * static_cast<double>(model.block_gemm_parameters_per_token());
  for (const std::int64_t length : lengths) {
    attention[std::to_string(length)] = model.attention_flops(length - 1, 1);
    prefill[std::to_string(length)] =
        linear * static_cast<double>(length) + model.attention_flops(0, length);
  }
  return {
      {"linear_per_token", linear}, {"attention_of_token_at", attention}, {"prefill_of", prefill}};
}

std::string attention_term(const AttentionSpec& spec) {
  if (spec.kv_shared) return "0 (shares an earlier layer's cache)";
  if (spec.kind == AttentionKind::mla)
    return std::string("(") + std::to_string(spec.kv_lora_rank) + " latent + " +
           std::to_string(spec.qk_rope_head_dim) + " rope)";
  const std::string heads = std::to_string(spec.kv_heads) + " KV heads x ";
  if (spec.qk_head_dim == spec.v_head_dim)
    return std::string("2 x ") + heads + std::to_string(spec.qk_head_dim);
  return heads + "(" + std::to_string(spec.qk_head_dim) + " K + " +
         std::to_string(spec.v_head_dim) + " V)";
}

} // namespace

WindowSummary summarise_windows(const Architecture& model) {
  WindowSummary sum;
  const std::vector<WindowTerm> terms = window_terms(model);
  for (const WindowTerm& term : terms) {
    sum.layers += term.layers;
    sum.bytes_per_token =
        checked_add(sum.bytes_per_token, term.bytes_per_token, "the size of the KV cache");
    const std::int64_t cap =
        checked_mul(term.window_tokens, term.bytes_per_token, "the size of the KV cache");
    sum.cap_bytes = checked_add(sum.cap_bytes, cap, "the size of the KV cache");
  }
  if (terms.size() == 1) sum.window_tokens = terms.front().window_tokens;
  return sum;
}

std::string derivation(const Architecture& model) {
  std::string text;
  for (const LayerKind& kind : model.kinds) {
    const AttentionSpec& spec = kind.attention;
    if (spec.kind == AttentionKind::none) continue;
    text += text.empty() ? "" : "; ";
    text += std::to_string(kind.count) + " layers " + kind.name + ": " + attention_term(spec) +
            " x " + std::to_string(bits_of(model.kv_dtype)) + " bit";
    if (spec.window_tokens > 0)
      text += ", at most " + std::to_string(spec.window_tokens) + " tokens";
    if (spec.index_head_dim > 0)
      text += ", and " + std::to_string(spec.index_head_dim) + " index elements x " +
              std::to_string(bits_of(model.index_dtype)) + " bit";
  }
  return text.empty() ? "no layer attends: no KV cache" : text;
}

ordered_json describe(const Architecture& model, const std::vector<std::int64_t>& tokens) {
  const WindowSummary windows = summarise_windows(model);
  const bool any = windows.layers > 0;
  ordered_json json;
  json["model"] = model.name;
  json["status"] = "ok";
  json["family"] = model.family;
  json["source"] = model.source;
  json["kv_dtype"] = to_string(model.kv_dtype);
  json["full_bytes_per_token"] = model.full_bytes_per_token();
  json["index_bytes_per_token"] = model.index_bytes_per_token();
  json["sliding_layers"] = when(any, windows.layers);
  json["sliding_window_tokens"] = when(windows.window_tokens > 0, windows.window_tokens);
  json["sliding_bytes_per_token"] = when(any, windows.bytes_per_token);
  json["sliding_cap_bytes"] = when(any, windows.cap_bytes);
  json["state_bytes_per_sequence"] = when(model.is_hybrid(), model.state_bytes());
  std::vector<std::int64_t> lengths = {1024, 32768, 131072};
  lengths.insert(lengths.end(), tokens.begin(), tokens.end());
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  for (const std::int64_t length : lengths)
    json["kv_bytes_at_" + std::to_string(length)] = model.kv_bytes(length);
  json["params_total"] = when(model.parameters > 0, model.parameters);
  json["params_active"] = when(model.parameters > 0, model.active_parameters);
  json["block_gemm_params_per_token"] = model.block_gemm_parameters_per_token();
  json["derivation"] = derivation(model);
  json["tensor_parallel"] = model.tensor_parallel;
  json["weight_dtype"] = to_string(model.weight_dtype);
  json["activation_dtype"] = to_string(model.activation_dtype);
  json["index_dtype"] = when(false, 0);
  if (model.index_bytes_per_token() > 0) json["index_dtype"] = to_string(model.index_dtype);
  json["hidden"] = model.hidden;
  json["layers"] = model.layers;
  json["max_position_tokens"] = when(model.max_position_tokens > 0, model.max_position_tokens);
  json["vocabulary"] = model.vocabulary.size;
  json["tied_head"] = model.vocabulary.tied_head;
  json["prefix_needs_saved_state"] = model.is_hybrid();
  json["flops"] = flops_json(model, lengths);
  json["kinds"] = kinds_json(model);
  json["assumptions"] = model.assumptions;
  json["overrides"] = model.overrides;
  return json;
}

ordered_json describe_refusal(const std::string& name, const std::string& reason) {
  return {{"model", printable(name)}, {"status", "refused"}, {"reason", reason}};
}

} // namespace breakeven::model
