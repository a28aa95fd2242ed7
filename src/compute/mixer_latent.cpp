#include "compute/mixer_latent.hpp"

#include <algorithm>
#include <cstring>

namespace breakeven::compute {
namespace {

constexpr std::int64_t expand_rows = 512; ///< tokens expanded by one GEMM

class LatentMixer : public Mixer {
public:
  LatentMixer(const Runtime& runtime, const model::LayerKind& kind, const LayerOptions& options)
      : m_runtime(runtime), m_spec(kind.attention), m_shape(attention_shape(kind.attention)),
        m_group(latent_head_group(kind.attention)) {
    const model::AttentionSpec& a = m_spec;
    m_latent_width = a.kv_lora_rank + a.qk_rope_head_dim;
    const std::int64_t h = options.hidden, q = a.heads * a.qk_head_dim;
    // One GEMM makes the query (or its latent) and the KV latent.
    m_first_width = a.q_lora_rank > 0 ? a.q_lora_rank : q;
    m_down = random_matrix(runtime, h, m_first_width + m_latent_width, false, options.seed, "down");
    if (a.q_lora_rank > 0) {
      m_q_up = random_matrix(runtime, a.q_lora_rank, q, false, options.seed, "q_b");
      m_q_norm = random_norm(runtime, a.q_lora_rank, options.seed, "q_norm");
    }
    m_kv_norm = random_norm(runtime, a.kv_lora_rank, options.seed, "kv_norm");
    const std::int64_t width = m_group * (a.qk_nope_head_dim + a.v_head_dim);
    for (std::int64_t g = 0; g < a.heads / m_group; ++g)
      m_kv_up.push_back(random_matrix(runtime, a.kv_lora_rank, width, false, options.seed,
                                      "kv_b" + std::to_string(g)));
    m_output = random_matrix(runtime, a.heads * a.v_head_dim, h, a.o_bias, options.seed,
                             "attention_output");
    m_expanded = Buffer(static_cast<std::uint64_t>(expand_rows * width * runtime.element_bytes()));
  }

  void before(const Pass& pass, KvCache* cache) override {
    Workspace& w = *pass.workspace;
    const std::int64_t bytes = m_runtime.element_bytes();
    const Kernels& kernels = *m_runtime.kernels;
    const std::int64_t rope = m_spec.qk_rope_head_dim;
    const float* angles = rope > 0 ? w.rope.at(rope).data() : nullptr;
    // projected: queries [tokens][heads * qk], then the down projection's rows
    std::byte* q = w.projected.data();
    std::byte* first = q + pass.tokens * q_width() * bytes;
    const std::int64_t stride = m_first_width + m_latent_width;
    m_runtime.gemm->run(*m_down, {w.normed.data(), pass.tokens, first});
#pragma omp parallel for schedule(static) num_threads(m_runtime.threads)
    for (std::int64_t t = 0; t < pass.tokens; ++t) {
      std::byte* row = first + t * stride * bytes;
      if (m_q_up)
        kernels.rms_norm(row, m_q_norm.data(), row, m_spec.q_lora_rank, norm_epsilon);
      else
        std::memcpy(q + t * q_width() * bytes, row, static_cast<std::size_t>(q_width() * bytes));
      std::byte* latent = row + m_first_width * bytes;
      kernels.rms_norm(latent, m_kv_norm.data(), latent, m_spec.kv_lora_rank, norm_epsilon);
      kernels.rope(latent + m_spec.kv_lora_rank * bytes, angles + t * rope, rope);
      std::memcpy(cache->latent_row(pass.context + t), latent,
                  static_cast<std::size_t>(m_latent_width * bytes));
    }
    if (m_q_up) {
      GemmCall up{first, pass.tokens, q};
      up.x_stride = stride;
      m_runtime.gemm->run(*m_q_up, up);
    }
#pragma omp parallel for schedule(static) num_threads(m_runtime.threads)
    for (std::int64_t t = 0; t < pass.tokens; ++t)
      for (std::int64_t head = 0; head < m_spec.heads; ++head)
        kernels.rope(
            q + ((t * m_spec.heads + head) * m_spec.qk_head_dim + m_spec.qk_nope_head_dim) * bytes,
            angles + t * rope, rope);
  }

  double attend(const Pass& pass, KvCache* cache, const HeadSample& sample) override {
    const std::int64_t groups = m_spec.heads / m_group;
    const std::int64_t count =
        sample.kv_head_count > 0 ? (sample.kv_head_count + m_group - 1) / m_group : groups;
    double pairs = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t group = (sample.first_kv_head / m_group + i) % groups;
      expand(group, pass.context + pass.tokens, *cache);
      pairs += attend_group(pass, *cache, group);
    }
    return pairs;
  }

  void after(const Pass& pass) override {
    Workspace& w = *pass.workspace;
    m_runtime.gemm->run(*m_output, {w.mixed.data(), pass.tokens, w.hidden.data(), true});
  }

private:
  [[nodiscard]] std::int64_t q_width() const {
    return m_spec.heads * m_spec.qk_head_dim;
  }

  /// Keys and values of one group of heads, of all `keys` tokens, into the cache's pages.
  void expand(std::int64_t group, std::int64_t keys, KvCache& cache) {
    const std::int64_t bytes = m_runtime.element_bytes();
    const std::int64_t nope = m_spec.qk_nope_head_dim, v = m_spec.v_head_dim;
    const std::int64_t rope = m_spec.qk_rope_head_dim, one = nope + v;
    for (std::int64_t first = 0; first < keys; first += expand_rows) {
      const std::int64_t rows = std::min(expand_rows, keys - first);
      GemmCall call{cache.latent_row(first), rows, m_expanded.data()};
      call.x_stride = m_latent_width;
      m_runtime.gemm->run(*m_kv_up[static_cast<std::size_t>(group)], call);
#pragma omp parallel for schedule(static) num_threads(m_runtime.threads)
      for (std::int64_t t = 0; t < rows; ++t) {
        const std::byte* rope_key = cache.latent_row(first + t) + m_spec.kv_lora_rank * bytes;
        for (std::int64_t head = 0; head < m_group; ++head) {
          const std::byte* made = m_expanded.data() + (t * m_group + head) * one * bytes;
          cache.store_split(*m_runtime.kernels, first + t, head, made, nope, rope_key, rope,
                            made + nope * bytes);
        }
      }
    }
  }

  double attend_group(const Pass& pass, const KvCache& cache, std::int64_t group) {
    Workspace& w = *pass.workspace;
    const std::int64_t bytes = m_runtime.element_bytes();
    AttentionShape shape = m_shape;
    shape.heads = shape.kv_heads = m_group;
    AttentionCall call;
    call.kernels = m_runtime.kernels;
    call.shape = &shape;
    call.cache = &cache;
    call.scratch = w.scratch.get();
    call.context = pass.context;
    call.new_tokens = pass.tokens;
    call.q = w.projected.data() + group * m_group * m_spec.qk_head_dim * bytes;
    call.q_stride = q_width();
    call.out = w.mixed.data() + group * m_group * m_spec.v_head_dim * bytes;
    call.out_stride = m_spec.heads * m_spec.v_head_dim;
    call.threads = m_runtime.threads;
    return compute::attend(call);
  }

  Runtime m_runtime;
  model::AttentionSpec m_spec;
  AttentionShape m_shape;
  std::int64_t m_group;
  std::int64_t m_latent_width = 0, m_first_width = 0;
  std::unique_ptr<PackedMatrix> m_down, m_q_up, m_output;
  std::vector<std::unique_ptr<PackedMatrix>> m_kv_up; ///< per group of heads
  Buffer m_q_norm, m_kv_norm, m_expanded;
};

} // namespace

std::int64_t latent_head_group(const model::AttentionSpec& spec) {
  for (const std::int64_t group : {4, 2})
    if (spec.heads % group == 0) return group;
  return 1;
}

std::unique_ptr<Mixer> make_latent_mixer(const Runtime& runtime, const model::LayerKind& kind,
                                         const LayerOptions& options) {
  return std::make_unique<LatentMixer>(runtime, kind, options);
}

} // namespace breakeven::compute
