#pragma once

#include "compute/layer.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace breakeven::compute {

/// Which tokens each expert gets.
struct Routing {
  std::vector<std::vector<std::int32_t>> tokens_of_expert;
};

/// Draws `per_token` different experts for each token, expert e with weight 1 / (1 + e)^skew
/// (skew 0: evenly), experts shuffled by the seed. Trained routers lie between 0 and about 0.5.
Routing draw_routing(std::int64_t experts, std::int64_t per_token, std::int64_t tokens, double skew,
                     std::uint64_t seed);

/// Routed experts as a grouped GEMM, expert by expert over its gathered rows, all threads on each;
/// shared experts as one dense MLP. The router GEMM runs, but the choice is the seeded draw's:
/// random weights would not route as trained ones do. Each chosen expert weighs 1/per_token.
std::unique_ptr<Mlp> make_mixture(const Runtime&, const model::LayerKind&, const LayerOptions&);

/// One MLP with weights under `prefix` + "gate_up" (or "up") and `prefix` + "down".
class DenseMlp : public Mlp {
public:
  DenseMlp(const Runtime& runtime, const model::MlpSpec& spec, bool gated, std::int64_t width,
           const LayerOptions& options, const std::string& prefix);
  void run(const Pass& pass) override;
  /// out[rows][hidden] (+)= MLP(x[rows][hidden])
  void apply(Workspace& w, const void* x, std::int64_t rows, void* out, bool accumulate);

private:
  Runtime m_runtime;
  bool m_gated;
  std::int64_t m_width;
  RowActivation m_activation;
  std::unique_ptr<PackedMatrix> m_in, m_out;
};

} // namespace breakeven::compute
