#include "compute/mixture.hpp"

namespace breakeven::compute {

DenseMlp::DenseMlp(const Runtime& runtime, const model::MlpSpec& spec, bool gated,
                   std::int64_t width, const LayerOptions& options, const std::string& prefix)
    : m_runtime(runtime), m_gated(gated), m_width(width),
      m_activation(row_activation(spec.activation)),
      m_in(random_matrix(runtime, options.hidden, width * (gated ? 2 : 1), spec.bias, options.seed,
                         prefix + (gated ? "gate_up" : "up"))),
      m_out(random_matrix(runtime, width, options.hidden, spec.bias, options.seed,
                          prefix + "down")) {}

void DenseMlp::run(const Pass& pass) {
  Workspace& w = *pass.workspace;
  apply(w, w.normed.data(), pass.tokens, w.hidden.data(), true);
}

void DenseMlp::apply(Workspace& w, const void* x, std::int64_t rows, void* out, bool accumulate) {
  m_runtime.gemm->run(*m_in, {x, rows, w.intermediate.data()});
  const std::int64_t out_bytes = m_width * m_runtime.element_bytes();
  const std::int64_t in_bytes = out_bytes * (m_gated ? 2 : 1);
#pragma omp parallel for schedule(static) num_threads(m_runtime.threads)
  for (std::int64_t t = 0; t < rows; ++t) {
    const std::byte* in = w.intermediate.data() + t * in_bytes;
    std::byte* act = w.activated.data() + t * out_bytes;
    if (m_gated)
      m_runtime.kernels->gated(in, in + out_bytes, act, m_width, m_activation);
    else
      m_runtime.kernels->activate(in, act, m_width, m_activation);
  }
  m_runtime.gemm->run(*m_out, {w.activated.data(), rows, out, accumulate});
}

RowActivation row_activation(model::Activation activation) {
  switch (activation) {
  case model::Activation::gelu:
    return RowActivation::gelu;
  case model::Activation::relu2:
    return RowActivation::relu2;
  case model::Activation::silu:
  case model::Activation::other:
    break;
  }
  return RowActivation::silu;
}

std::unique_ptr<Mlp> make_mlp(const Runtime& runtime, const model::LayerKind& kind,
                              const LayerOptions& options) {
  if (kind.mlp.kind == model::MlpKind::moe) return make_mixture(runtime, kind, options);
  const bool gated = kind.mlp.kind == model::MlpKind::gated;
  return std::make_unique<DenseMlp>(runtime, kind.mlp, gated, kind.mlp.intermediate, options, "");
}

} // namespace breakeven::compute
