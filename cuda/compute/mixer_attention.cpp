#include "compute/layer.hpp"
#include "cuda/compute/layer.hpp"
#include "cuda/kernels/rows.hpp"

namespace breakeven::cuda {
namespace {

constexpr std::int64_t bf16_bytes = 2;

/// MHA, GQA and MQA: one fused projection to q, k and v heads, and an output projection.
class AttentionMixer : public Mixer {
public:
  AttentionMixer(const Runtime& runtime, const model::LayerKind& kind, std::int64_t hidden,
                 std::uint64_t seed)
      : m_runtime(runtime), m_spec(kind.attention),
        m_shape(compute::attention_shape(kind.attention)) {
    const model::AttentionSpec& a = m_spec;
    m_q = a.heads * a.qk_head_dim;
    m_k = a.kv_heads * a.qk_head_dim;
    m_v = a.kv_heads * a.v_head_dim;
    m_qkv = Linear(runtime, {hidden, m_q + m_k + m_v, a.q_bias || a.k_bias || a.v_bias}, seed + 1);
    m_output = Linear(runtime, {a.heads * a.v_head_dim, hidden, a.o_bias}, seed + 2);
    if (a.qk_norm) {
      m_q_norm = random_norm(runtime, a.qk_head_dim, seed + 3);
      m_k_norm = random_norm(runtime, a.qk_head_dim, seed + 4);
    }
  }

  void before(const Pass& pass, KvCache* cache) override {
    const Workspace& w = *m_runtime.workspace;
    const std::int64_t stride = m_q + m_k + m_v;
    std::byte* q = w.projected.data();
    std::byte* k = q + m_q * bf16_bytes;
    std::byte* v = k + m_k * bf16_bytes;
    m_qkv.run(m_runtime, w.normed.data(), pass.tokens, q);
    if (m_spec.qk_norm) {
      head_norm(q, m_q_norm.data(), pass.tokens, m_spec.heads, m_spec.qk_head_dim, stride,
                m_runtime.stream);
      head_norm(k, m_k_norm.data(), pass.tokens, m_spec.kv_heads, m_spec.qk_head_dim, stride,
                m_runtime.stream);
    }
    if (m_spec.rope) // keys follow queries: heads of both in one launch
      rope(q, w.rope.at(m_spec.qk_head_dim).as<float>(), pass.tokens,
           m_spec.heads + m_spec.kv_heads, m_spec.qk_head_dim, m_spec.qk_head_dim, stride,
           m_runtime.stream);
    const std::int64_t context = compute::held_context(m_shape, pass.context);
    copy_rows(k, stride, cache->k.data() + context * m_k * bf16_bytes, m_k, pass.tokens, m_k,
              m_runtime.stream);
    copy_rows(v, stride, cache->v.data() + context * m_v * bf16_bytes, m_v, pass.tokens, m_v,
              m_runtime.stream);
  }

  void attend(const Pass& pass, KvCache* cache) override {
    const Workspace& w = *m_runtime.workspace;
    AttentionCall call = attention_call(m_runtime, m_shape, pass);
    call.q = w.projected.data();
    call.q_token = m_q + m_k + m_v;
    call.q_head = call.k_head = m_spec.qk_head_dim;
    call.k = cache->k.data();
    call.k_token = m_k;
    call.v = cache->v.data();
    call.v_token = m_v;
    call.v_head = call.out_head = m_spec.v_head_dim;
    call.out = w.mixed.data();
    call.out_token = m_spec.heads * m_spec.v_head_dim;
    m_runtime.attention->run(call, w.attention.data());
  }

  void after(const Pass& pass) override {
    const Workspace& w = *m_runtime.workspace;
    m_output.run(m_runtime, w.mixed.data(), pass.tokens, w.delta.data());
  }

private:
  Runtime m_runtime;
  model::AttentionSpec m_spec;
  compute::AttentionShape m_shape;
  std::int64_t m_q = 0, m_k = 0, m_v = 0; ///< widths
  Linear m_qkv, m_output;
  DeviceMemory m_q_norm, m_k_norm;
};

} // namespace

std::unique_ptr<Mixer> make_attention_mixer(const Runtime& runtime, const model::LayerKind& kind,
                                            std::int64_t hidden, std::uint64_t seed) {
  return std::make_unique<AttentionMixer>(runtime, kind, hidden, seed);
}

} // namespace breakeven::cuda
