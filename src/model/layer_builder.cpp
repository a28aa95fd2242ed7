#include "model/layer_builder.hpp"

#include "support/checked.hpp"

namespace breakeven::model {

std::int64_t times(std::int64_t a, std::int64_t b) {
  return checked_mul(a, b, "a size computed from the model's config");
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  return checked_add(a, b, "a size computed from the model's config");
}

namespace {

[[noreturn]] void refuse_split(std::int64_t ranks, std::int64_t n, const char* what) {
  throw error(error_kind::usage, "--tp " + std::to_string(ranks) + " does not divide the model's " +
                                     std::to_string(n) + " " + what);
}

} // namespace

std::int64_t Ranks::split(std::int64_t n, const char* what) const {
  if (n % count != 0) refuse_split(count, n, what);
  return n / count;
}

std::int64_t Ranks::split_or_replicate(std::int64_t n, const char* what) const {
  if (n >= count) return split(n, what);
  if (n == 0 || count % n != 0) refuse_split(count, n, what);
  return 1;
}

void LayerBuilder::name(const std::string& part) {
  m_kind.name += (m_kind.name.empty() ? "" : "+") + part;
}

void LayerBuilder::parameters(std::int64_t n) {
  m_kind.parameters = plus(m_kind.parameters, n);
  m_kind.active_parameters = plus(m_kind.active_parameters, n);
}

void LayerBuilder::gemm(const char* gemm_name, std::int64_t k, std::int64_t n, bool bias) {
  m_kind.gemms.push_back({gemm_name, k, n, GemmRows::all_tokens, 1, 1});
  parameters(plus(times(k, n), bias ? n : 0));
}

void LayerBuilder::routed(const char* gemm_name, std::int64_t k, std::int64_t n,
                          const MoeShape& shape) {
  m_kind.gemms.push_back(
      {gemm_name, k, n, GemmRows::routed_tokens, shape.experts, shape.experts_per_token});
  const std::int64_t one = plus(times(k, n), shape.expert_bias ? n : 0);
  m_kind.parameters = plus(m_kind.parameters, times(one, shape.experts));
  m_kind.active_parameters = plus(m_kind.active_parameters, times(one, shape.experts_per_token));
}

void LayerBuilder::attention(AttentionSpec spec, std::int64_t query_outputs,
                             bool value_projection) {
  spec.heads = m_ranks.split(spec.heads, "attention heads");
  spec.kv_heads = m_ranks.split_or_replicate(spec.kv_heads, "KV heads");
  const std::int64_t q = times(times(spec.heads, spec.qk_head_dim), query_outputs);
  const std::int64_t k = spec.kv_shared ? 0 : times(spec.kv_heads, spec.qk_head_dim);
  const std::int64_t v =
      spec.kv_shared || !value_projection ? 0 : times(spec.kv_heads, spec.v_head_dim);
  gemm(spec.kv_shared ? "q" : "qkv", m_hidden, plus(plus(q, k), v));
  parameters(plus(plus(spec.q_bias ? q : 0, spec.k_bias ? k : 0), spec.v_bias ? v : 0));
  gemm("attention_output", times(spec.heads, spec.v_head_dim), m_hidden, spec.o_bias);
  name(to_string(spec.kind) + (spec.kv_shared ? "_shared_kv" : ""));
  m_kind.attention = spec;
}

void LayerBuilder::attention_with_input(const AttentionSpec& spec, std::int64_t input) {
  const std::int64_t q = times(spec.heads, spec.qk_head_dim);
  const std::int64_t kv = times(spec.kv_heads, plus(spec.qk_head_dim, spec.v_head_dim));
  gemm("qkv", input, plus(q, kv));
  gemm("attention_output", times(spec.heads, spec.v_head_dim), m_hidden);
  name(to_string(spec.kind));
  m_kind.attention = spec;
}

void LayerBuilder::mla(AttentionSpec spec) {
  spec.heads = m_ranks.split(spec.heads, "attention heads");
  spec.kv_heads = spec.heads;
  const std::int64_t queries = times(spec.heads, spec.qk_head_dim);
  if (spec.q_lora_rank > 0) {
    gemm("q_a", m_hidden, spec.q_lora_rank, spec.q_bias);
    parameters(spec.q_lora_rank);
    gemm("q_b", spec.q_lora_rank, queries);
  } else {
    gemm("q", m_hidden, queries);
  }
  gemm("kv_a", m_hidden, plus(spec.kv_lora_rank, spec.qk_rope_head_dim), spec.k_bias);
  parameters(spec.kv_lora_rank);
  gemm("kv_b", spec.kv_lora_rank, times(spec.heads, plus(spec.qk_nope_head_dim, spec.v_head_dim)));
  if (spec.index_head_dim > 0) {
    gemm("index_q", spec.q_lora_rank, times(spec.index_heads, spec.index_head_dim));
    gemm("index_k", m_hidden, spec.index_head_dim);
    parameters(times(2, spec.index_head_dim)); // a LayerNorm of the index key
    gemm("index_weights", m_hidden, spec.index_heads);
  }
  gemm("attention_output", times(spec.heads, spec.v_head_dim), m_hidden, spec.o_bias);
  name("mla");
  if (spec.index_head_dim > 0) name("index");
  m_kind.attention = spec;
}

void LayerBuilder::mlp(std::int64_t intermediate, bool gated, bool bias, Activation activation) {
  const std::int64_t width = m_ranks.split(intermediate, "MLP channels");
  m_kind.mlp.kind = gated ? MlpKind::gated : MlpKind::plain;
  m_kind.mlp.intermediate = width;
  m_kind.mlp.gated = gated;
  m_kind.mlp.bias = bias;
  m_kind.mlp.activation = activation;
  gemm(gated ? "gate_up" : "up", m_hidden, gated ? times(2, width) : width, bias);
  gemm("down", width, m_hidden, bias);
}

void LayerBuilder::moe(const MoeShape& shape) {
  const std::int64_t width = m_ranks.split(shape.intermediate, "channels of each expert");
  const std::int64_t shared =
      m_ranks.split(shape.shared_intermediate, "channels of the shared expert");
  const std::int64_t factor = shape.gated ? 2 : 1;
  m_kind.mlp.kind = MlpKind::moe;
  m_kind.mlp.intermediate = width;
  m_kind.mlp.gated = shape.gated;
  m_kind.mlp.bias = shape.expert_bias;
  m_kind.mlp.activation = shape.activation;
  m_kind.mlp.experts = shape.experts;
  m_kind.mlp.experts_per_token = shape.experts_per_token;
  m_kind.mlp.shared_intermediate = shared;
  gemm("router", m_hidden, shape.experts, shape.router_bias);
  const std::int64_t outside = shape.latent > 0 ? shape.latent : m_hidden;
  if (shape.latent > 0) gemm("latent_down", m_hidden, shape.latent);
  routed(shape.gated ? "expert_gate_up" : "expert_up", outside, times(factor, width), shape);
  routed("expert_down", width, outside, shape);
  if (shape.latent > 0) gemm("latent_up", shape.latent, m_hidden);
  if (shared > 0) {
    gemm(shape.gated ? "shared_gate_up" : "shared_up", m_hidden, times(factor, shared),
         shape.shared_bias);
    gemm("shared_down", shared, m_hidden, shape.shared_bias);
    if (shape.shared_gate) gemm("shared_gate", m_hidden, 1);
  }
  name("moe");
}

void LayerBuilder::state(const StateSpec& spec) {
  m_kind.state = spec;
  name(to_string(spec.kind));
}

namespace {

std::int64_t state_size(std::int64_t conv_elements, DType conv, std::int64_t elements,
                        DType dtype) {
  return plus(times(conv_elements, bits_of(conv)), times(elements, bits_of(dtype))) / 8;
}

} // namespace

void LayerBuilder::mamba1(const MambaShape& shape, std::int64_t extra_norms) {
  const std::int64_t inner = m_ranks.split(shape.inner, "Mamba channels");
  gemm("mamba_in", m_hidden, times(2, inner), shape.projection_bias);
  parameters(plus(times(inner, shape.kernel), shape.conv_bias ? inner : 0));
  gemm("mamba_x", inner, plus(shape.time_step_rank, times(2, shape.state)));
  gemm("mamba_dt", shape.time_step_rank, inner, true);
  parameters(plus(times(inner, shape.state), inner)); // A and D
  parameters(extra_norms);
  gemm("mamba_out", inner, m_hidden, shape.projection_bias);
  StateSpec spec;
  spec.kind = StateKind::mamba1;
  spec.heads = inner;
  spec.key_heads = 1;
  spec.head_dim = 1;
  spec.state_dim = shape.state;
  spec.conv_kernel = shape.kernel;
  spec.conv_channels = inner;
  spec.bytes = state_size(times(shape.kernel - 1, inner), shape.conv_dtype,
                          times(inner, shape.state), shape.state_dtype);
  state(spec);
}

void LayerBuilder::mamba2(const MambaShape& shape, bool gate_norm) {
  const std::int64_t inner = m_ranks.split(shape.inner, "Mamba channels");
  const std::int64_t heads = m_ranks.split(shape.heads, "Mamba heads");
  const std::int64_t groups = m_ranks.split_or_replicate(shape.groups, "Mamba groups");
  const std::int64_t channels = plus(inner, times(times(2, groups), shape.state));
  gemm("mamba_in", m_hidden, plus(plus(inner, channels), heads), shape.projection_bias);
  parameters(plus(times(channels, shape.kernel), shape.conv_bias ? channels : 0));
  parameters(times(3, heads)); // A, D and the time-step bias
  if (gate_norm) parameters(inner);
  gemm("mamba_out", inner, m_hidden, shape.projection_bias);
  StateSpec spec;
  spec.kind = StateKind::mamba2;
  spec.heads = heads;
  spec.key_heads = groups;
  spec.head_dim = inner / heads;
  spec.state_dim = shape.state;
  spec.conv_kernel = shape.kernel;
  spec.conv_channels = channels;
  spec.bytes = state_size(times(shape.kernel - 1, channels), shape.conv_dtype,
                          times(inner, shape.state), shape.state_dtype);
  state(spec);
}

namespace {

StateSpec delta_state(StateKind kind, const DeltaShape& shape, std::int64_t key_heads,
                      std::int64_t value_heads) {
  StateSpec spec;
  spec.kind = kind;
  spec.heads = value_heads;
  spec.key_heads = key_heads;
  spec.head_dim = shape.value_dim;
  spec.state_dim = shape.key_dim;
  spec.conv_kernel = shape.kernel;
  spec.conv_channels =
      plus(times(2, times(key_heads, shape.key_dim)), times(value_heads, shape.value_dim));
  spec.bytes =
      state_size(times(shape.kernel - 1, spec.conv_channels), shape.conv_dtype,
                 times(value_heads, times(shape.key_dim, shape.value_dim)), shape.state_dtype);
  return spec;
}

} // namespace

void LayerBuilder::gated_delta_net(const DeltaShape& shape) {
  const std::int64_t key_heads = m_ranks.split(shape.key_heads, "linear attention key heads");
  const std::int64_t value_heads = m_ranks.split(shape.value_heads, "linear attention value heads");
  const std::int64_t keys = times(key_heads, shape.key_dim);
  const std::int64_t values = times(value_heads, shape.value_dim);
  const StateSpec spec = delta_state(StateKind::gated_delta_net, shape, key_heads, value_heads);
  gemm("delta_qkvz", m_hidden, plus(times(2, keys), times(2, values)));
  gemm("delta_ba", m_hidden, times(2, value_heads));
  parameters(times(spec.conv_channels, shape.kernel));
  parameters(plus(times(2, value_heads), shape.value_dim)); // decay, time-step bias, norm
  gemm("delta_out", values, m_hidden);
  state(spec);
}

void LayerBuilder::kimi_delta(const DeltaShape& shape) {
  const std::int64_t heads = m_ranks.split(shape.value_heads, "linear attention heads");
  const std::int64_t channels = times(heads, shape.value_dim);
  const StateSpec spec = delta_state(StateKind::kimi_delta, shape, heads, heads);
  gemm("delta_qkv", m_hidden, times(3, channels));
  parameters(times(spec.conv_channels, shape.kernel));
  gemm("delta_beta", m_hidden, heads);
  if (shape.gate_rank > 0) {
    gemm("delta_decay_a", m_hidden, shape.gate_rank);
    gemm("delta_decay_b", shape.gate_rank, channels);
    gemm("delta_gate_a", m_hidden, shape.gate_rank);
    gemm("delta_gate_b", shape.gate_rank, channels);
  } else {
    gemm("delta_decay", m_hidden, channels);
    gemm("delta_gate", m_hidden, channels);
  }
  parameters(plus(plus(heads, channels), shape.value_dim)); // decay, time-step bias, norm
  gemm("delta_out", channels, m_hidden);
  state(spec);
}

void LayerBuilder::lightning(std::int64_t all_heads, std::int64_t head_dim, DType state_dtype) {
  const std::int64_t heads = m_ranks.split(all_heads, "linear attention heads");
  const std::int64_t channels = times(heads, head_dim);
  gemm("lightning_qkv", m_hidden, times(3, channels));
  gemm("lightning_gate", m_hidden, channels);
  gemm("lightning_out", channels, m_hidden);
  StateSpec spec;
  spec.kind = StateKind::lightning;
  spec.heads = spec.key_heads = heads;
  spec.head_dim = spec.state_dim = head_dim;
  spec.bytes = state_size(0, state_dtype, times(channels, head_dim), state_dtype);
  state(spec);
}

void LayerBuilder::short_conv(std::int64_t kernel, bool bias, DType conv_dtype) {
  const std::int64_t channels = m_ranks.split(m_hidden, "convolution channels");
  gemm("conv_in", m_hidden, times(3, channels), bias);
  parameters(plus(times(channels, kernel), bias ? channels : 0));
  gemm("conv_out", channels, m_hidden, bias);
  StateSpec spec;
  spec.kind = StateKind::short_conv;
  spec.heads = spec.key_heads = channels;
  spec.head_dim = spec.state_dim = 1;
  spec.conv_kernel = kernel;
  spec.conv_channels = channels;
  spec.bytes = state_size(times(kernel - 1, channels), conv_dtype, 0, conv_dtype);
  state(spec);
}

LayerKind LayerBuilder::finish() const {
  LayerKind kind = m_kind;
  kind.count = 1;
  return kind;
}

} // namespace breakeven::model
