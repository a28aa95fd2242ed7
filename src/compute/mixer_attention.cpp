#include "compute/layer.hpp"
#include "compute/mixer_latent.hpp"

#include <cmath>

namespace breakeven::compute {
namespace {

/// MHA, GQA and MQA: one fused projection to q, k and v heads, and an output projection.
class AttentionMixer : public Mixer {
public:
  AttentionMixer(const Runtime& runtime, const model::LayerKind& kind, const LayerOptions& options)
      : m_runtime(runtime), m_spec(kind.attention), m_shape(attention_shape(kind.attention)) {
    const model::AttentionSpec& a = m_spec;
    m_projected = a.heads * a.qk_head_dim + a.kv_heads * (a.qk_head_dim + a.v_head_dim);
    m_qkv = random_matrix(runtime, options.hidden, m_projected, a.q_bias || a.k_bias || a.v_bias,
                          options.seed, "qkv");
    m_output = random_matrix(runtime, a.heads * a.v_head_dim, options.hidden, a.o_bias,
                             options.seed, "attention_output");
    if (a.qk_norm) {
      m_q_norm = random_norm(runtime, a.qk_head_dim, options.seed, "q_norm");
      m_k_norm = random_norm(runtime, a.qk_head_dim, options.seed, "k_norm");
    }
  }

  void before(const Pass& pass, KvCache* cache) override {
    Workspace& w = *pass.workspace;
    m_runtime.gemm->run(*m_qkv, {w.normed.data(), pass.tokens, w.projected.data()});
    const std::int64_t context = held_context(m_shape, pass.context);
    const float* angles = m_spec.rope ? w.rope.at(m_spec.qk_head_dim).data() : nullptr;
#pragma omp parallel for schedule(static) num_threads(m_runtime.threads)
    for (std::int64_t t = 0; t < pass.tokens; ++t) {
      std::byte* row = w.projected.data() + t * m_projected * m_runtime.element_bytes();
      rotate_and_store(row, angles ? angles + t * m_spec.qk_head_dim : nullptr, context + t,
                       *cache);
    }
  }

  double attend(const Pass& pass, KvCache* cache, const HeadSample& sample) override {
    Workspace& w = *pass.workspace;
    AttentionCall call;
    call.kernels = m_runtime.kernels;
    call.shape = &m_shape;
    call.cache = cache;
    call.scratch = w.scratch.get();
    call.context = held_context(m_shape, pass.context);
    call.new_tokens = pass.tokens;
    call.q = w.projected.data();
    call.q_stride = m_projected;
    call.out = w.mixed.data();
    call.out_stride = m_spec.heads * m_spec.v_head_dim;
    call.threads = m_runtime.threads;
    call.first_kv_head = sample.first_kv_head;
    call.kv_head_count = sample.kv_head_count;
    call.tile_step = sample.tile_step;
    return compute::attend(call);
  }

  void after(const Pass& pass) override {
    Workspace& w = *pass.workspace;
    m_runtime.gemm->run(*m_output, {w.mixed.data(), pass.tokens, w.hidden.data(), true});
  }

private:
  void rotate_and_store(std::byte* row, const float* angles, std::int64_t token,
                        KvCache& cache) const {
    const Kernels& kernels = *m_runtime.kernels;
    const std::int64_t bytes = m_runtime.element_bytes();
    const std::int64_t qk = m_spec.qk_head_dim, v = m_spec.v_head_dim;
    for (std::int64_t head = 0; head < m_spec.heads + m_spec.kv_heads; ++head) {
      std::byte* x = row + head * qk * bytes;
      const Buffer& norm = head < m_spec.heads ? m_q_norm : m_k_norm;
      if (m_spec.qk_norm) kernels.rms_norm(x, norm.data(), x, qk, norm_epsilon);
      if (angles != nullptr) kernels.rope(x, angles, qk);
    }
    const std::byte* k = row + m_spec.heads * qk * bytes;
    const std::byte* values = k + m_spec.kv_heads * qk * bytes;
    for (std::int64_t head = 0; head < m_spec.kv_heads; ++head)
      cache.store(kernels, token, head, k + head * qk * bytes, values + head * v * bytes);
  }

  Runtime m_runtime;
  model::AttentionSpec m_spec;
  AttentionShape m_shape;
  std::int64_t m_projected = 0;
  std::unique_ptr<PackedMatrix> m_qkv, m_output;
  Buffer m_q_norm, m_k_norm;
};

} // namespace

AttentionShape attention_shape(const model::AttentionSpec& spec) {
  AttentionShape shape;
  if (spec.kind == model::AttentionKind::none) return shape;
  shape.heads = spec.heads;
  shape.kv_heads = spec.kind == model::AttentionKind::mla ? spec.heads : spec.kv_heads;
  shape.qk_dim = spec.qk_head_dim;
  shape.v_dim = spec.v_head_dim;
  shape.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec.qk_head_dim)));
  const bool windowed = spec.kind == model::AttentionKind::sliding_window ||
                        spec.kind == model::AttentionKind::chunked;
  if (windowed) shape.window_tokens = spec.window_tokens;
  shape.chunked = spec.kind == model::AttentionKind::chunked;
  return shape;
}

std::unique_ptr<Mixer> make_attention_mixer(const Runtime& runtime, const model::LayerKind& kind,
                                            const LayerOptions& options) {
  if (kind.attention.kind == model::AttentionKind::mla)
    return make_latent_mixer(runtime, kind, options);
  return std::make_unique<AttentionMixer>(runtime, kind, options);
}

} // namespace breakeven::compute
