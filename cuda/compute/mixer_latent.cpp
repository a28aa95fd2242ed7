#include "compute/layer.hpp"
#include "cuda/compute/layer.hpp"
#include "cuda/kernels/rows.hpp"

namespace breakeven::cuda {
namespace {

constexpr std::int64_t bf16_bytes = 2;

/// MLA as engines prefill it: the cache holds latents; keys and values of a group of heads are
/// made from them by a GEMM before each group's attention.
class LatentMixer : public Mixer {
public:
  LatentMixer(const Runtime& runtime, const model::LayerKind& kind, std::int64_t hidden,
              std::uint64_t seed)
      : m_runtime(runtime), m_spec(kind.attention),
        m_shape(compute::attention_shape(kind.attention)),
        m_group(latent_head_group(kind.attention)) {
    const model::AttentionSpec& a = m_spec;
    m_q = a.heads * a.qk_head_dim;
    m_first = a.q_lora_rank > 0 ? a.q_lora_rank : m_q;
    m_latent = a.kv_lora_rank + a.qk_rope_head_dim;
    m_down = Linear(runtime, {hidden, m_first + m_latent}, seed + 1);
    if (a.q_lora_rank > 0) {
      m_q_up = Linear(runtime, {a.q_lora_rank, m_q}, seed + 2);
      m_q_norm = random_norm(runtime, a.q_lora_rank, seed + 3);
    }
    m_kv_norm = random_norm(runtime, a.kv_lora_rank, seed + 4);
    Linear::Shape up{a.kv_lora_rank, m_group * (a.qk_nope_head_dim + a.v_head_dim)};
    up.count = a.heads / m_group;
    m_kv_up = Linear(runtime, up, seed + 5);
    m_output = Linear(runtime, {a.heads * a.v_head_dim, hidden, a.o_bias}, seed + 6);
  }

  void before(const Pass& pass, KvCache* cache) override {
    const Workspace& w = *m_runtime.workspace;
    const cudaStream_t stream = m_runtime.stream;
    const std::int64_t stride = m_first + m_latent, rope_dim = m_spec.qk_rope_head_dim;
    std::byte* first = w.projected.data();
    std::byte* latent = first + m_first * bf16_bytes;
    std::byte* rope_key = latent + m_spec.kv_lora_rank * bf16_bytes;
    m_down.run(m_runtime, w.normed.data(), pass.tokens, first);
    if (m_spec.q_lora_rank > 0) {
      rms_norm(first, stride, m_q_norm.data(), first, stride, pass.tokens, m_spec.q_lora_rank,
               stream);
      m_q_up.run(m_runtime, first, pass.tokens, w.queries.data(), stride);
    } else {
      copy_rows(first, stride, w.queries.data(), m_q, pass.tokens, m_q, stream);
    }
    rms_norm(latent, stride, m_kv_norm.data(), latent, stride, pass.tokens, m_spec.kv_lora_rank,
             stream);
    if (rope_dim > 0) {
      const float* table = w.rope.at(rope_dim).as<float>();
      rope(rope_key, table, pass.tokens, 1, rope_dim, rope_dim, stride, stream);
      rope(w.queries.data() + m_spec.qk_nope_head_dim * bf16_bytes, table, pass.tokens,
           m_spec.heads, rope_dim, m_spec.qk_head_dim, m_q, stream);
    }
    copy_rows(latent, stride, cache->latent.data() + pass.context * m_latent * bf16_bytes, m_latent,
              pass.tokens, m_latent, stream);
  }

  void attend(const Pass& pass, KvCache* cache) override {
    const Workspace& w = *m_runtime.workspace;
    const std::int64_t nope = m_spec.qk_nope_head_dim, one = nope + m_spec.v_head_dim;
    const std::int64_t keys = pass.context + pass.tokens;
    compute::AttentionShape shape = m_shape;
    shape.heads = shape.kv_heads = m_group;
    for (std::int64_t g = 0; g < m_spec.heads / m_group; ++g) {
      m_kv_up.run(m_runtime, cache->latent.data(), keys, w.expanded.data(), m_latent, g);
      assemble_keys(w.expanded.data(), m_group * one, one,
                    cache->latent.data() + m_spec.kv_lora_rank * bf16_bytes, m_latent,
                    w.keys.data(), keys, m_group, nope, m_spec.qk_rope_head_dim, m_runtime.stream);
      AttentionCall call = attention_call(m_runtime, shape, pass);
      call.q = w.queries.data() + g * m_group * m_spec.qk_head_dim * bf16_bytes;
      call.q_token = m_q;
      call.q_head = call.k_head = m_spec.qk_head_dim;
      call.k = w.keys.data();
      call.k_token = m_group * m_spec.qk_head_dim;
      call.v = w.expanded.data() + nope * bf16_bytes;
      call.v_token = m_group * one;
      call.v_head = one;
      call.out = w.mixed.data() + g * m_group * m_spec.v_head_dim * bf16_bytes;
      call.out_token = m_spec.heads * m_spec.v_head_dim;
      call.out_head = m_spec.v_head_dim;
      m_runtime.attention->run(call, w.attention.data());
    }
  }

  void after(const Pass& pass) override {
    const Workspace& w = *m_runtime.workspace;
    m_output.run(m_runtime, w.mixed.data(), pass.tokens, w.delta.data());
  }

private:
  Runtime m_runtime;
  model::AttentionSpec m_spec;
  compute::AttentionShape m_shape;
  std::int64_t m_group;
  std::int64_t m_q = 0, m_first = 0, m_latent = 0; ///< widths
  Linear m_down, m_q_up, m_kv_up, m_output;
  DeviceMemory m_q_norm, m_kv_norm;
};

} // namespace

std::unique_ptr<Mixer> make_latent_mixer(const Runtime& runtime, const model::LayerKind& kind,
                                         std::int64_t hidden, std::uint64_t seed) {
  return std::make_unique<LatentMixer>(runtime, kind, hidden, seed);
}

} // namespace breakeven::cuda
