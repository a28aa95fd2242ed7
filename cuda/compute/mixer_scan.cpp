#include "compute/mixer_scan.hpp"

#include "cuda/compute/layer.hpp"
#include "cuda/kernels/fill.hpp"
#include "cuda/kernels/scan.hpp"

#include <algorithm>

namespace breakeven::cuda {
namespace {

class ScanMixer : public Mixer {
public:
  ScanMixer(const Runtime& runtime, const model::LayerKind& kind, std::int64_t hidden,
            std::uint64_t seed)
      : m_runtime(runtime), m_spec(kind.state), m_columns(kind.state) {
    m_in = Linear(runtime, {hidden, padded_columns(m_columns.total)}, seed + 1);
    m_out = Linear(runtime, {m_spec.heads * m_spec.head_dim, hidden}, seed + 2);
    m_norm = random_norm(runtime, m_spec.head_dim, seed + 3);
    if (m_spec.conv_kernel <= 0) return;
    const auto count = static_cast<std::uint64_t>(m_spec.conv_kernel * m_columns.convolved);
    m_convolution = DeviceMemory(2 * count, "weights");
    fill_random(m_convolution.data(), count, seed + 4, 1.0F, runtime.stream);
  }

  void before(const Pass& pass, KvCache*) override {
    const Workspace& w = *m_runtime.workspace;
    m_in.run(m_runtime, w.normed.data(), pass.tokens, w.projected.data());
    ScanCall call;
    call.projected = w.projected.data();
    call.convolution = m_convolution.data();
    call.convolved = w.queries.data();
    call.norm = m_norm.data();
    call.out = w.mixed.data();
    call.tokens = pass.tokens;
    call.total = m_in.shape().n;
    call.convolved_width = m_columns.convolved;
    call.k_column = static_cast<int>(m_columns.k);
    call.v_column = static_cast<int>(m_columns.v);
    call.z_column = static_cast<int>(m_columns.z);
    call.decay_column = static_cast<int>(m_columns.decay);
    call.beta_column = static_cast<int>(m_columns.beta);
    call.heads = static_cast<int>(m_spec.heads);
    call.key_heads = static_cast<int>(m_spec.key_heads);
    call.head_dim = static_cast<int>(m_spec.head_dim);
    call.state_dim = static_cast<int>(m_spec.state_dim);
    call.taps = static_cast<int>(std::max<std::int64_t>(m_spec.conv_kernel, 1));
    call.delta = m_spec.kind == model::StateKind::gated_delta_net;
    call.stream = m_runtime.stream;
    scan(call);
  }

  void attend(const Pass&, KvCache*) override {}

  void after(const Pass& pass) override {
    const Workspace& w = *m_runtime.workspace;
    m_out.run(m_runtime, w.mixed.data(), pass.tokens, w.delta.data());
  }

private:
  Runtime m_runtime;
  model::StateSpec m_spec;
  compute::ScanColumns m_columns;
  Linear m_in, m_out;
  DeviceMemory m_norm, m_convolution;
};

} // namespace

std::unique_ptr<Mixer> make_scan_mixer(const Runtime& runtime, const model::LayerKind& kind,
                                       std::int64_t hidden, std::uint64_t seed) {
  return std::make_unique<ScanMixer>(runtime, kind, hidden, seed);
}

} // namespace breakeven::cuda
