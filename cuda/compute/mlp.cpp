#include "compute/mixture.hpp"
#include "cuda/compute/layer.hpp"
#include "cuda/kernels/rows.hpp"
#include "cuda/runtime/check.hpp"

#include <algorithm>
#include <tuple>

namespace breakeven::cuda {
namespace {

Activation activation_of(const model::MlpSpec& spec) {
  switch (compute::row_activation(spec.activation)) {
  case compute::RowActivation::gelu:
    return Activation::gelu;
  case compute::RowActivation::relu2:
    return Activation::relu2;
  default:
    return Activation::silu;
  }
}

class DenseMlp : public Mlp {
public:
  DenseMlp(const Runtime& runtime, const model::MlpSpec& spec, std::int64_t hidden,
           std::int64_t width, bool gated, std::uint64_t seed)
      : m_runtime(runtime), m_width(width), m_gated(gated), m_activation(activation_of(spec)),
        m_in(runtime, {hidden, width * (gated ? 2 : 1), spec.bias}, seed + 11),
        m_out(runtime, {width, hidden, spec.bias}, seed + 12) {}

  void run(const Pass& pass) override {
    const Workspace& w = *m_runtime.workspace;
    m_in.run(m_runtime, w.normed.data(), pass.tokens, w.intermediate.data());
    activate(w.intermediate.data(), w.activated.data(), pass.tokens, m_width, m_gated, m_activation,
             m_runtime.stream);
    m_out.run(m_runtime, w.activated.data(), pass.tokens, w.delta.data());
  }

private:
  Runtime m_runtime;
  std::int64_t m_width;
  bool m_gated;
  Activation m_activation;
  Linear m_in, m_out;
};

/// Routed experts: rows gathered by expert, one cublasLt GEMM per expert and matrix, and one pass
/// that adds the results up; shared experts as one dense MLP. The router GEMM runs, but the choice
/// is a seeded draw's: random weights would not route as trained ones do.
class Mixture : public Mlp {
public:
  Mixture(const Runtime& runtime, const model::MlpSpec& spec, std::int64_t hidden,
          std::int64_t stored_experts, std::uint64_t seed)
      : m_runtime(runtime), m_spec(spec), m_hidden(hidden), m_activation(activation_of(spec)) {
    Linear::Shape router{hidden, spec.experts};
    router.full_precision = true;
    m_router = Linear(runtime, router, seed + 21);
    Linear::Shape in{hidden, spec.intermediate * (spec.gated ? 2 : 1), spec.bias};
    Linear::Shape out{spec.intermediate, hidden, spec.bias};
    in.count = out.count = std::clamp<std::int64_t>(stored_experts, 1, spec.experts);
    m_in = Linear(runtime, in, seed + 22);
    m_out = Linear(runtime, out, seed + 23);
    if (spec.shared_intermediate > 0)
      m_shared = std::make_unique<DenseMlp>(runtime, spec, hidden, spec.shared_intermediate,
                                            spec.gated, seed + 100);
  }

  void run(const Pass& pass) override {
    const Workspace& w = *m_runtime.workspace;
    const cudaStream_t stream = m_runtime.stream;
    const DeviceRouting& routing = routing_for(pass.tokens);
    const std::int64_t rows = routing.first.back(), wide = m_in.shape().n;
    m_router.run(m_runtime, w.normed.data(), pass.tokens, w.router.data());
    if (m_shared) m_shared->run(pass);
    gather_rows(w.normed.data(), routing.rows_of.as<std::int32_t>(), w.gathered.data(), rows,
                m_hidden, stream);
    each_expert(routing, m_in, w.gathered.data(), m_hidden, w.intermediate.data(), wide);
    activate(w.intermediate.data(), w.activated.data(), rows, m_spec.intermediate, m_spec.gated,
             m_activation, stream);
    each_expert(routing, m_out, w.activated.data(), m_spec.intermediate, w.results.data(),
                m_hidden);
    const auto weight = 1.0F / static_cast<float>(m_spec.experts_per_token);
    combine_rows(w.results.data(), routing.places.as<std::int32_t>(), m_spec.experts_per_token,
                 weight, w.delta.data(), m_shared != nullptr, pass.tokens, m_hidden, stream);
  }

private:
  void each_expert(const DeviceRouting& routing, const Linear& linear, const std::byte* x,
                   std::int64_t x_width, std::byte* out, std::int64_t out_width) const {
    for (std::int64_t e = 0; e < m_spec.experts; ++e) {
      const std::int64_t first = routing.first[static_cast<std::size_t>(e)];
      const std::int64_t rows = routing.first[static_cast<std::size_t>(e) + 1] - first;
      if (rows > 0)
        linear.run(m_runtime, x + first * x_width * 2, rows, out + first * out_width * 2, 0,
                   e % linear.shape().count);
    }
  }

  const DeviceRouting& routing_for(std::int64_t tokens) {
    const std::tuple key{m_spec.experts, m_spec.experts_per_token, tokens};
    const auto found = m_runtime.routings->find(key);
    if (found != m_runtime.routings->end()) return found->second;
    const compute::Routing drawn =
        compute::draw_routing(m_spec.experts, m_spec.experts_per_token, tokens,
                              m_runtime.expert_skew, static_cast<std::uint64_t>(tokens));
    std::vector<std::int32_t> rows_of;
    std::vector<std::vector<std::int32_t>> places(static_cast<std::size_t>(tokens));
    DeviceRouting routing;
    for (const std::vector<std::int32_t>& own : drawn.tokens_of_expert) {
      routing.first.push_back(static_cast<std::int64_t>(rows_of.size()));
      for (const std::int32_t token : own) {
        places[static_cast<std::size_t>(token)].push_back(
            static_cast<std::int32_t>(rows_of.size()));
        rows_of.push_back(token);
      }
    }
    routing.first.push_back(static_cast<std::int64_t>(rows_of.size()));
    std::vector<std::int32_t> flat;
    for (const std::vector<std::int32_t>& own : places)
      flat.insert(flat.end(), own.begin(), own.end());
    routing.rows_of = upload(rows_of);
    routing.places = upload(flat);
    return m_runtime.routings->emplace(key, std::move(routing)).first->second;
  }

  /// Waits for the device: happens before a graph is recorded, never in one.
  [[nodiscard]] DeviceMemory upload(const std::vector<std::int32_t>& values) const {
    DeviceMemory memory(values.size() * sizeof(std::int32_t), "expert routing");
    check(calls().memcpy_async(memory.data(), values.data(), memory.size_bytes(),
                               cudaMemcpyHostToDevice, m_runtime.stream),
          "copying the expert routing");
    check(calls().stream_synchronize(m_runtime.stream), "copying the expert routing");
    return memory;
  }

  Runtime m_runtime;
  model::MlpSpec m_spec;
  std::int64_t m_hidden;
  Activation m_activation;
  Linear m_router, m_in, m_out;
  std::unique_ptr<DenseMlp> m_shared;
};

} // namespace

std::unique_ptr<Mlp> make_mlp(const Runtime& runtime, const model::LayerKind& kind,
                              std::int64_t hidden, std::int64_t stored_experts,
                              std::uint64_t seed) {
  if (kind.mlp.kind == model::MlpKind::moe)
    return std::make_unique<Mixture>(runtime, kind.mlp, hidden, stored_experts, seed);
  return std::make_unique<DenseMlp>(runtime, kind.mlp, hidden, kind.mlp.intermediate,
                                    kind.mlp.kind == model::MlpKind::gated, seed);
}

} // namespace breakeven::cuda
