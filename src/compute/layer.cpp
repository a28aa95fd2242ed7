#include "compute/layer.hpp"

#include "compute/mixer_scan.hpp"

#include <algorithm>
#include <cmath>

namespace breakeven::compute {

void WorkspaceNeeds::cover(const WorkspaceNeeds& other) {
  const auto grow = [](std::int64_t& mine, std::int64_t theirs) { mine = std::max(mine, theirs); };
  grow(projected, other.projected);
  grow(mixed, other.mixed);
  grow(intermediate, other.intermediate);
  grow(activated, other.activated);
  grow(extra, other.extra);
  grow(qk_dim, other.qk_dim);
  grow(v_dim, other.v_dim);
  grow(rope_dim, other.rope_dim);
}

std::uint64_t weight_seed(std::uint64_t layer_seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U ^ (layer_seed * 0x9e3779b97f4a7c15U); // FNV-1a
  for (const char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash ^ (hash >> 29);
}

std::unique_ptr<PackedMatrix> random_matrix(const Runtime& runtime, std::int64_t k, std::int64_t n,
                                            bool bias, std::uint64_t layer_seed,
                                            std::string_view name) {
  const auto bytes = static_cast<std::uint64_t>(runtime.element_bytes());
  const std::uint64_t seed = weight_seed(layer_seed, name);
  const auto amplitude = static_cast<float>(std::sqrt(3.0 / static_cast<double>(k)));
  const Buffer plain(static_cast<std::uint64_t>(k) * static_cast<std::uint64_t>(n) * bytes);
  fill_random(*runtime.kernels, plain.data(), k * n, seed, amplitude, runtime.threads);
  const Buffer bias_values(bias ? static_cast<std::uint64_t>(n) * bytes : 0);
  if (bias)
    fill_random(*runtime.kernels, bias_values.data(), n, seed + 1, amplitude, runtime.threads);
  return runtime.gemm->pack(k, n, plain.data(), bias ? bias_values.data() : nullptr,
                            runtime.rows_hint);
}

Buffer random_norm(const Runtime& runtime, std::int64_t n, std::uint64_t layer_seed,
                   std::string_view name) {
  Buffer weight(static_cast<std::uint64_t>(n * runtime.element_bytes()));
  Buffer ones(weight.size_bytes());
  fill_random(*runtime.kernels, weight.data(), n, weight_seed(layer_seed, name), 0.1F, 1);
  if (runtime.kernels->element == Element::fp32)
    std::fill_n(ones.as<float>(), n, 1.0F);
  else
    std::fill_n(ones.as<std::uint16_t>(), n, std::uint16_t{0x3f80}); // 1.0 in bf16
  runtime.kernels->add(ones.data(), weight.data(), n);
  return weight;
}

void set_rope(Workspace& workspace, std::int64_t context, std::int64_t tokens, int threads) {
  constexpr double base = 500000.0; // the angles do not change the work
  for (auto& [dim_, table_] : workspace.rope) {
    const std::int64_t dim = dim_, half = dim / 2;
    std::vector<float>& table = table_;
    table.resize(static_cast<std::size_t>(tokens * dim));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t t = 0; t < tokens; ++t)
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(context + t) *
                             std::pow(base, -static_cast<double>(i) / static_cast<double>(half));
        float* row = table.data() + t * dim;
        row[i] = static_cast<float>(std::cos(angle));
        row[half + i] = static_cast<float>(std::sin(angle));
      }
  }
}

void norm_rows(const Runtime& runtime, const Buffer& x, const Buffer& weight, Buffer& out,
               std::int64_t rows, std::int64_t n) {
  const std::int64_t row_bytes = n * runtime.element_bytes();
#pragma omp parallel for schedule(static) num_threads(runtime.threads)
  for (std::int64_t r = 0; r < rows; ++r)
    runtime.kernels->rms_norm(x.data() + r * row_bytes, weight.data(), out.data() + r * row_bytes,
                              n, norm_epsilon);
}

Layer::Layer(const Runtime& runtime, const model::LayerKind& kind, const LayerOptions& options)
    : m_runtime(runtime), m_hidden(options.hidden) {
  const bool recurrent = kind.state.kind != model::StateKind::none;
  if (recurrent || kind.attention.kind != model::AttentionKind::none) {
    m_mixer = recurrent ? make_scan_mixer(runtime, kind, options)
                        : make_attention_mixer(runtime, kind, options);
    m_mixer_norm = random_norm(runtime, m_hidden, options.seed, "mixer_norm");
  }
  if (kind.mlp.kind != model::MlpKind::none) {
    m_mlp = make_mlp(runtime, kind, options);
    m_mlp_norm = random_norm(runtime, m_hidden, options.seed, "mlp_norm");
  }
}

void Layer::run(const Pass& pass, KvCache* cache, bool with_attention) {
  Workspace& w = *pass.workspace;
  if (m_mixer) {
    norm_rows(m_runtime, w.hidden, m_mixer_norm, w.normed, pass.tokens, m_hidden);
    m_mixer->before(pass, cache);
    if (with_attention) m_last_pairs = m_mixer->attend(pass, cache, {});
    m_mixer->after(pass);
  }
  if (m_mlp) {
    norm_rows(m_runtime, w.hidden, m_mlp_norm, w.normed, pass.tokens, m_hidden);
    m_mlp->run(pass);
  }
}

} // namespace breakeven::compute
