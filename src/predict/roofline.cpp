#include "predict/roofline.hpp"

#include "support/error.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cmath>

namespace breakeven::predict {
namespace {

double required(const Hardware& device, const std::string& key) {
  const double value = device.value(key);
  if (value > 0) return value;
  throw error(error_kind::bad_input,
              printable(device.name) + " has no fact '" + key + "', which the prediction needs");
}

/// Peak that the GEMMs run at: weights of 8 bits and NVFP4 meet activations of their own type where
/// the device multiplies it; other 4-bit weights are expanded to bf16 first.
std::string gemm_dtype(const model::Architecture& model, const Hardware& device) {
  using model::DType;
  const auto either = [&](const char* wanted) {
    return std::string(device.value(wanted) > 0 ? wanted : "bf16");
  };
  switch (model.weight_dtype) {
  case DType::fp32:
    return either("fp32");
  case DType::fp8:
    return either("fp8");
  case DType::int8:
    return either("int8");
  case DType::nvfp4:
    return either("fp4");
  case DType::bf16:
  case DType::fp16:
  case DType::int4:
  case DType::mxfp4:
    return "bf16";
  }
  return "bf16";
}

} // namespace

Roofline::Roofline(const model::Architecture& model, const Hardware& device,
                   const Efficiency& efficiency, double linear_parameters,
                   const std::string& compute_dtype)
    : m_model(model), m_efficiency(efficiency),
      m_compute_dtype(compute_dtype.empty() ? gemm_dtype(model, device) : compute_dtype) {
  m_parameters = linear_parameters > 0
                     ? linear_parameters / static_cast<double>(model.tensor_parallel)
                     : static_cast<double>(model.block_gemm_parameters_per_token());
  m_linear_flops = required(device, m_compute_dtype);
  m_attention_flops = required(device, "bf16");
  m_memory_Bps = required(device, "memory_bandwidth");
  for (const model::LayerKind& kind : model.kinds) {
    model::Architecture alone = model;
    alone.kinds = {kind};
    alone.kv_bytes_per_token_override = 0;
    m_kinds.push_back(std::move(alone));
  }
}

double Roofline::weight_bytes(std::int64_t new_tokens) const {
  double elements = 0;
  for (const model::LayerKind& kind : m_model.kinds)
    for (const model::Gemm& gemm : kind.gemms) {
      double matrices = static_cast<double>(gemm.count);
      if (gemm.rows == model::GemmRows::routed_tokens) {
        // Experts that at least one of the tokens is routed to, if all are alike likely.
        const double missed = 1 - static_cast<double>(gemm.active_count) / matrices;
        matrices *= 1 - std::pow(missed, static_cast<double>(new_tokens));
      }
      elements += static_cast<double>(kind.count) * matrices * static_cast<double>(gemm.k) *
                  static_cast<double>(gemm.n);
    }
  return elements * model::bits_of(m_model.weight_dtype) / 8;
}

double Roofline::dense_s(std::int64_t new_tokens) const {
  if (new_tokens <= 0) return 0;
  const double compute_s =
      linear_flops(static_cast<double>(new_tokens)) / (m_efficiency.linear * m_linear_flops);
  return std::max(compute_s, weight_bytes(new_tokens) / (m_efficiency.memory * m_memory_Bps));
}

bool Roofline::has_attention(std::size_t kind) const {
  return m_model.kinds[kind].attention.kind != model::AttentionKind::none;
}

double Roofline::attention_flops(std::size_t kind, std::int64_t context_tokens,
                                 std::int64_t new_tokens) const {
  return m_kinds[kind].attention_flops(context_tokens, new_tokens);
}

double Roofline::attention_flops(std::int64_t context_tokens, std::int64_t new_tokens) const {
  return m_model.attention_flops(context_tokens, new_tokens);
}

double Roofline::attention_s(std::size_t kind, std::int64_t context_tokens,
                             std::int64_t new_tokens) const {
  if (new_tokens <= 0 || !has_attention(kind)) return 0;
  const double compute_s = attention_flops(kind, context_tokens, new_tokens) /
                           (m_efficiency.attention * m_attention_flops);
  const std::int64_t bytes =
      m_kinds[kind].kv_bytes(context_tokens + new_tokens) - m_kinds[kind].state_bytes();
  return std::max(compute_s, static_cast<double>(bytes) / (m_efficiency.memory * m_memory_Bps));
}

double Roofline::step_s(std::int64_t context_tokens, std::int64_t new_tokens) const {
  double sum = dense_s(new_tokens);
  for (std::size_t kind = 0; kind < m_kinds.size(); ++kind)
    sum += attention_s(kind, context_tokens, new_tokens);
  return sum;
}

double Roofline::prefill_s(std::int64_t context_tokens, std::int64_t new_tokens,
                           std::int64_t chunk_tokens) const {
  double sum = 0;
  for (std::int64_t done = 0; done < new_tokens; done += chunk_tokens)
    sum += step_s(context_tokens + done, std::min(chunk_tokens, new_tokens - done));
  return sum;
}

double Roofline::least_s(std::int64_t context_tokens, std::int64_t new_tokens) const {
  return linear_flops(static_cast<double>(new_tokens)) / m_linear_flops +
         attention_flops(context_tokens, new_tokens) / m_attention_flops;
}

std::int64_t Roofline::knee_tokens() const {
  // Weights streamed grow with the tokens only where experts are routed: a few steps suffice.
  double tokens = 1;
  for (int i = 0; i < 30; ++i)
    tokens = weight_bytes(std::llround(std::max(1.0, tokens))) /
             (m_efficiency.memory * m_memory_Bps) * (m_efficiency.linear * m_linear_flops) /
             linear_flops(1);
  return std::max<std::int64_t>(1, std::llround(tokens));
}

} // namespace breakeven::predict
