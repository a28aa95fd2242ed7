#include "compute/layer.hpp"

namespace breakeven::compute {
namespace {

/// down(activation(gate(x)) * up(x)), or down(activation(up(x))) when not gated.
class DenseMlp : public Mlp {
public:
  DenseMlp(const Runtime& runtime, const model::MlpSpec& spec, const LayerOptions& options)
      : m_runtime(runtime), m_gated(spec.kind == model::MlpKind::gated), m_width(spec.intermediate),
        m_activation(row_activation(spec.activation)),
        m_in(random_matrix(runtime, options.hidden, m_width * (m_gated ? 2 : 1), spec.bias,
                           options.seed, m_gated ? "gate_up" : "up")),
        m_out(random_matrix(runtime, m_width, options.hidden, spec.bias, options.seed, "down")) {}

  void run(const Pass& pass) override {
    Workspace& w = *pass.workspace;
    m_runtime.gemm->run(*m_in, {w.normed.data(), pass.tokens, w.intermediate.data()});
    const std::int64_t out_bytes = m_width * m_runtime.element_bytes();
    const std::int64_t in_bytes = out_bytes * (m_gated ? 2 : 1);
#pragma omp parallel for schedule(static) num_threads(m_runtime.threads)
    for (std::int64_t t = 0; t < pass.tokens; ++t) {
      const std::byte* in = w.intermediate.data() + t * in_bytes;
      std::byte* out = w.activated.data() + t * out_bytes;
      if (m_gated)
        m_runtime.kernels->gated(in, in + out_bytes, out, m_width, m_activation);
      else
        m_runtime.kernels->activate(in, out, m_width, m_activation);
    }
    m_runtime.gemm->run(*m_out, {w.activated.data(), pass.tokens, w.hidden.data(), true});
  }

private:
  Runtime m_runtime;
  bool m_gated;
  std::int64_t m_width;
  RowActivation m_activation;
  std::unique_ptr<PackedMatrix> m_in, m_out;
};

} // namespace

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
  return std::make_unique<DenseMlp>(runtime, kind.mlp, options);
}

} // namespace breakeven::compute
