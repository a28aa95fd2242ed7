#pragma once

#include "compute/attention.hpp"
#include "compute/cpu_compute.hpp"
#include "compute/gemm.hpp"

#include <cmath>
#include <memory>

/// The work that benchmarks and comparisons share.
namespace breakeven::bench {

using compute::Element;

/// The best GEMM engine here: oneDNN bf16, oneDNN fp32, Eigen.
inline std::unique_ptr<compute::GemmEngine> best_gemm(int threads) {
  if (!compute::usable_kernels(Element::bf16).empty())
    if (auto gemm = compute::make_onednn_gemm(Element::bf16, threads)) return gemm;
  if (auto gemm = compute::make_onednn_gemm(Element::fp32, threads)) return gemm;
  return compute::make_eigen_gemm(threads);
}

inline compute::Buffer random_buffer(const compute::Kernels& kernels, std::int64_t n,
                                     std::uint64_t seed, int threads) {
  compute::Buffer buffer(static_cast<std::uint64_t>(n * compute::bytes_of(kernels.element)));
  compute::fill_random(kernels, buffer.data(), n, seed, 1.0F, threads);
  return buffer;
}

/// out[rows][n] = x[rows][k] * w
struct GemmCase {
  GemmCase(std::int64_t k, std::int64_t n, std::int64_t rows_, int threads)
      : gemm(best_gemm(threads)),
        kernels(*compute::usable_kernels(gemm->element()).front()), runtime{&kernels, gemm.get(),
                                                                            threads, rows_},
        rows(rows_), weights(compute::random_matrix(runtime, k, n, false, 1, "bench")),
        x(random_buffer(kernels, rows * k, 2, threads)),
        out(random_buffer(kernels, rows * n, 3, threads)) {}
  void run() { gemm->run(*weights, {x.data(), rows, out.data()}); }

  std::unique_ptr<compute::GemmEngine> gemm;
  const compute::Kernels& kernels;
  compute::Runtime runtime;
  std::int64_t rows;
  std::unique_ptr<compute::PackedMatrix> weights;
  compute::Buffer x, out;
};

/// One layer's attention.
struct AttentionCase {
  AttentionCase(std::int64_t heads, std::int64_t kv_heads, std::int64_t dim, std::int64_t context,
                std::int64_t tokens, int threads)
      : element(best_gemm(threads)->element()), kernels(*compute::usable_kernels(element).front()),
        shape{
            heads, kv_heads, dim, dim, static_cast<float>(1 / std::sqrt(static_cast<double>(dim))),
            0,     false},
        cache(kernels, kv_heads, kv_heads, dim, dim, context + tokens, 1, threads),
        scratch(element, dim, dim, threads),
        q(random_buffer(kernels, tokens * heads * dim, 2, threads)),
        out(random_buffer(kernels, tokens * heads * dim, 3, threads)) {
    call.kernels = &kernels;
    call.shape = &shape;
    call.cache = &cache;
    call.scratch = &scratch;
    call.context = context;
    call.new_tokens = tokens;
    call.q = q.data();
    call.out = out.data();
    call.q_stride = call.out_stride = heads * dim;
    call.threads = threads;
  }
  double run() { return compute::attend(call); }

  Element element;
  const compute::Kernels& kernels;
  compute::AttentionShape shape;
  compute::KvCache cache;
  compute::AttentionScratch scratch;
  compute::Buffer q, out;
  compute::AttentionCall call;
};

struct ModelDims {
  const char* name;
  std::int64_t hidden, layers, heads, kv_heads, head_dim, intermediate, vocabulary;
};
inline constexpr ModelDims llama_3_2_1b{"llama-3.2-1b", 2048, 16, 32, 8, 64, 8192, 128256};
inline constexpr ModelDims llama_3_1_8b{"llama-3.1-8b", 4096, 32, 32, 8, 128, 14336, 128256};

inline model::Architecture architecture(const ModelDims& d) {
  model::LayerKind kind;
  kind.name = "full";
  kind.count = d.layers;
  kind.attention.kind = model::AttentionKind::full;
  kind.attention.heads = d.heads;
  kind.attention.kv_heads = d.kv_heads;
  kind.attention.qk_head_dim = kind.attention.v_head_dim = d.head_dim;
  kind.mlp.kind = model::MlpKind::gated;
  kind.mlp.intermediate = d.intermediate;
  model::Architecture a;
  a.name = d.name;
  a.hidden = d.hidden;
  a.layers = d.layers;
  a.vocabulary = {d.vocabulary, true};
  a.kinds = {kind};
  return a;
}

} // namespace breakeven::bench
