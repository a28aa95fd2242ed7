#include "model/architecture.hpp"

#include "support/checked.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace breakeven::model {
namespace {

const char* const kv_size = "the size of the KV cache";

/// Bytes of `elements` of `dtype`, a last half byte rounded up.
std::int64_t bytes_of(std::int64_t elements, DType dtype) {
  return checked_add(checked_mul(elements, bits_of(dtype), kv_size), 7, kv_size) / 8;
}

bool is_windowed(AttentionKind kind) {
  return kind == AttentionKind::sliding_window || kind == AttentionKind::chunked;
}

std::int64_t layer_bytes(const Architecture& model, const LayerKind& kind) {
  return checked_mul(bytes_of(kind.attention.kv_elements_per_token(), model.kv_dtype), kind.count,
                     kv_size);
}

/// Keys that all queries together see: queries at positions context .. context + added - 1 of a
/// causal mask, each limited to the last `limit` keys (0 = no limit).
double visible_keys(double context, double added, double limit) {
  const auto below = [](double n) { return n * (n + 1) / 2; }; // 1 + 2 + ... + n
  const double end = context + added;
  if (limit <= 0 || end <= limit) return below(end) - below(context);
  if (context >= limit) return added * limit;
  return below(limit) - below(context) + (end - limit) * limit;
}

/// The same for aligned chunks: a query sees its chunk's keys up to itself.
double visible_chunk_keys(std::int64_t context, std::int64_t added, std::int64_t chunk) {
  const auto up_to = [chunk](std::int64_t tokens) {
    const auto whole = static_cast<double>(tokens / chunk);
    const auto rest = static_cast<double>(tokens % chunk);
    const auto size = static_cast<double>(chunk);
    return whole * size * (size + 1) / 2 + rest * (rest + 1) / 2;
  };
  return up_to(context + added) - up_to(context);
}

double layer_attention_flops(const AttentionSpec& spec, std::int64_t context, std::int64_t added) {
  if (spec.kind == AttentionKind::none) return 0;
  const auto from = static_cast<double>(context);
  const auto rows = static_cast<double>(added);
  const double all = visible_keys(from, rows, 0);
  double keys = all;
  if (spec.kind == AttentionKind::sliding_window)
    keys = visible_keys(from, rows, static_cast<double>(spec.window_tokens));
  if (spec.kind == AttentionKind::chunked)
    keys = visible_chunk_keys(context, added, spec.window_tokens);
  double index = 0;
  if (spec.index_topk > 0) {
    keys = visible_keys(from, rows, static_cast<double>(spec.index_topk));
    index = 2.0 * static_cast<double>(spec.index_heads * spec.index_head_dim) * all;
  }
  return 2.0 * static_cast<double>(spec.heads) *
             static_cast<double>(spec.qk_head_dim + spec.v_head_dim) * keys +
         index;
}

} // namespace

std::string to_string(DType dtype) {
  switch (dtype) {
  case DType::fp32:
    return "fp32";
  case DType::bf16:
    return "bf16";
  case DType::fp16:
    return "fp16";
  case DType::fp8:
    return "fp8";
  case DType::int8:
    return "int8";
  case DType::int4:
    return "int4";
  case DType::mxfp4:
    return "mxfp4";
  case DType::nvfp4:
    return "nvfp4";
  }
  return "?";
}

int bits_of(DType dtype) {
  switch (dtype) {
  case DType::fp32:
    return 32;
  case DType::bf16:
  case DType::fp16:
    return 16;
  case DType::fp8:
  case DType::int8:
    return 8;
  case DType::int4:
  case DType::mxfp4:
  case DType::nvfp4:
    return 4;
  }
  return 0;
}

std::string to_string(AttentionKind kind) {
  switch (kind) {
  case AttentionKind::none:
    return "none";
  case AttentionKind::full:
    return "full";
  case AttentionKind::sliding_window:
    return "sliding_window";
  case AttentionKind::chunked:
    return "chunked";
  case AttentionKind::mla:
    return "mla";
  }
  return "?";
}

std::string to_string(StateKind kind) {
  switch (kind) {
  case StateKind::none:
    return "none";
  case StateKind::mamba1:
    return "mamba1";
  case StateKind::mamba2:
    return "mamba2";
  case StateKind::gated_delta_net:
    return "gated_delta_net";
  case StateKind::kimi_delta:
    return "kimi_delta";
  case StateKind::short_conv:
    return "short_conv";
  case StateKind::lightning:
    return "lightning";
  case StateKind::rwkv:
    return "rwkv";
  }
  return "?";
}

std::string to_string(MlpKind kind) {
  switch (kind) {
  case MlpKind::none:
    return "none";
  case MlpKind::gated:
    return "gated";
  case MlpKind::plain:
    return "plain";
  case MlpKind::moe:
    return "moe";
  }
  return "?";
}

std::int64_t AttentionSpec::kv_elements_per_token() const {
  if (kind == AttentionKind::none || kv_shared) return 0;
  if (kind == AttentionKind::mla) return checked_add(kv_lora_rank, qk_rope_head_dim, kv_size);
  return checked_mul(kv_heads, checked_add(qk_head_dim, v_head_dim, kv_size), kv_size);
}

std::int64_t Architecture::full_bytes_per_token() const {
  if (kv_bytes_per_token_override > 0) return kv_bytes_per_token_override;
  std::int64_t sum = 0;
  for (const LayerKind& kind : kinds)
    if (!is_windowed(kind.attention.kind))
      sum = checked_add(sum, layer_bytes(*this, kind), kv_size);
  return sum;
}

std::int64_t Architecture::index_bytes_per_token() const {
  std::int64_t sum = 0;
  for (const LayerKind& kind : kinds) {
    const std::int64_t bytes = bytes_of(kind.attention.index_head_dim, index_dtype);
    sum = checked_add(sum, checked_mul(bytes, kind.count, kv_size), kv_size);
  }
  return sum;
}

std::int64_t Architecture::state_bytes() const {
  std::int64_t sum = 0;
  for (const LayerKind& kind : kinds)
    sum = checked_add(sum, checked_mul(kind.state.bytes, kind.count, kv_size), kv_size);
  return sum;
}

std::vector<WindowTerm> window_terms(const Architecture& architecture) {
  std::map<std::int64_t, WindowTerm> terms;
  for (const LayerKind& kind : architecture.kinds) {
    if (!is_windowed(kind.attention.kind) || kind.attention.kv_shared) continue;
    WindowTerm& term = terms[kind.attention.window_tokens];
    term.window_tokens = kind.attention.window_tokens;
    term.layers += kind.count;
    term.bytes_per_token =
        checked_add(term.bytes_per_token, layer_bytes(architecture, kind), kv_size);
  }
  std::vector<WindowTerm> result;
  for (const auto& [window, term] : terms)
    result.push_back(term);
  return result;
}

std::int64_t Architecture::kv_bytes(std::int64_t tokens) const {
  if (tokens < 0) throw error(error_kind::usage, "a number of tokens cannot be negative");
  const std::int64_t each = checked_add(full_bytes_per_token(), index_bytes_per_token(), kv_size);
  std::int64_t sum = checked_add(checked_mul(each, tokens, kv_size), state_bytes(), kv_size);
  for (const WindowTerm& term : window_terms(*this))
    sum = checked_add(
        sum, checked_mul(std::min(tokens, term.window_tokens), term.bytes_per_token, kv_size),
        kv_size);
  return sum;
}

std::int64_t Architecture::block_gemm_parameters_per_token() const {
  const char* const what = "the number of GEMM parameters";
  std::int64_t sum = 0;
  for (const LayerKind& kind : kinds)
    for (const Gemm& gemm : kind.gemms) {
      const std::int64_t each =
          checked_mul(checked_mul(gemm.k, gemm.n, what), gemm.active_count, what);
      sum = checked_add(sum, checked_mul(each, kind.count, what), what);
    }
  return sum;
}

double Architecture::attention_flops(std::int64_t context_tokens, std::int64_t new_tokens) const {
  double sum = 0;
  for (const LayerKind& kind : kinds)
    sum += static_cast<double>(kind.count) *
           layer_attention_flops(kind.attention, context_tokens, new_tokens);
  return sum;
}

} // namespace breakeven::model
