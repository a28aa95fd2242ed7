#pragma once

#include "compute/gemm.hpp"
#include "compute/layer.hpp"
#include "models.hpp"
#include "reference.hpp"

#include <cstring>
#include <memory>
#include <vector>

namespace breakeven::test {

/// Every precision that this machine runs, with the GEMM engines it has for them.
struct Precision {
  std::unique_ptr<compute::GemmEngine> gemm;
  compute::Runtime runtime;
  double tolerance; ///< of one layer: relative to the largest value of the result
};

inline std::vector<Precision> precisions() {
  std::vector<Precision> all;
  const auto add = [&](std::unique_ptr<compute::GemmEngine> gemm, double tolerance) {
    if (!gemm || compute::usable_kernels(gemm->element()).empty()) return;
    Precision p{std::move(gemm), {}, tolerance};
    p.runtime = {compute::usable_kernels(p.gemm->element()).front(), p.gemm.get(), 2, 64};
    all.push_back(std::move(p));
  };
  // fp32: rounding of sums of some hundred terms. bf16: every stored activation is rounded to
  // 8 bits (2^-9 relative), and about ten such roundings follow each other in a layer.
  add(compute::make_eigen_gemm(2), 1e-5);
  add(compute::make_onednn_gemm(compute::Element::fp32, 2), 1e-5);
  add(compute::make_onednn_gemm(compute::Element::bf16, 2), 2e-2);
  // int8: weights and activations are rounded to 1/127 of their largest before each product.
  add(compute::make_onednn_int8_gemm(2), 8e-2);
  return all;
}

/// Fills with NaN (0x7fff is a NaN in bf16, 0x7fff7fff in fp32): unwritten results show.
inline void poison(compute::Buffer& buffer) {
  auto* words = buffer.as<std::uint16_t>();
  for (std::uint64_t i = 0; i < buffer.size_bytes() / 2; ++i)
    words[i] = 0x7fff;
}

/// A workspace for `tokens` tokens, poisoned but for `hidden`, which is random.
inline std::unique_ptr<compute::Workspace> workspace(const compute::Runtime& runtime,
                                                     const model::LayerKind& kind,
                                                     std::int64_t hidden, std::int64_t tokens,
                                                     std::int64_t context) {
  auto w = std::make_unique<compute::Workspace>();
  const compute::WorkspaceNeeds needs =
      compute::workspace_needs(kind, hidden, runtime.kernels->element);
  const auto make = [&](std::int64_t per_token) {
    compute::Buffer b(static_cast<std::uint64_t>(per_token * tokens * runtime.element_bytes()));
    poison(b);
    return b;
  };
  w->hidden = make(hidden);
  compute::fill_random(*runtime.kernels, w->hidden.data(), tokens * hidden, 42, 1.0F, 1);
  w->normed = make(hidden);
  w->projected = make(needs.projected);
  w->mixed = make(needs.mixed);
  w->intermediate = make(needs.intermediate);
  w->activated = make(needs.activated);
  w->extra = make(needs.extra);
  w->scratch = std::make_unique<compute::AttentionScratch>(runtime.kernels->element, needs.qk_dim,
                                                           needs.v_dim, runtime.threads);
  if (needs.rope_dim > 0) w->rope[needs.rope_dim];
  compute::set_rope(*w, context, tokens, 1);
  return w;
}

/// Keys or values as the cache of a test holds them: random tokens [tokens][heads][dim].
inline compute::Buffer random_rows(const compute::Runtime& runtime, std::int64_t n,
                                   std::uint64_t seed) {
  compute::Buffer b(static_cast<std::uint64_t>(n * runtime.element_bytes()));
  compute::fill_random(*runtime.kernels, b.data(), n, seed, 1.0F, 1);
  return b;
}

} // namespace breakeven::test
