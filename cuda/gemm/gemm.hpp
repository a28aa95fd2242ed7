#pragma once

#include "cuda/gemm/cublaslt.hpp"
#include "cuda/runtime/memory.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace breakeven::cuda {

enum class GemmMode {
  heuristic, ///< the heuristic's first choice, which serving engines run
  autotuned, ///< the fastest of sixteen candidates, timed on this device; labelled in the facts
};

/// out[rows][n] = x[rows][k] * w^T (+ bias): bf16 or e4m3 in, fp32 accumulate, bf16 out.
struct GemmCall {
  const void* x = nullptr;
  const void* weights = nullptr; ///< [n][k], as linear layers store them
  void* out = nullptr;
  std::int64_t rows = 0, k = 0, n = 0;
  std::int64_t x_stride = 0;      ///< elements between rows; 0: k
  std::int64_t out_stride = 0;    ///< 0: n
  const void* bias = nullptr;     ///< [n] bf16
  const float* x_scale = nullptr; ///< device scalars; both set: x and weights are e4m3 and stand
  const float* w_scale = nullptr; ///< for value * scale
};

/// GEMMs through cublasLt on one stream, with a 32 MiB workspace. Choices are kept per shape.
class Gemm {
public:
  /// Throws error::environment where cublasLt is missing or refuses.
  Gemm(GemmMode mode, cudaStream_t stream);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  /// Queues the product. Throws error::environment when there is no algorithm for it.
  void run(const GemmCall& call);
  /// Makes the choice for a shape without running it: nothing is chosen while a graph is captured.
  void prepare(const GemmCall& call);
  /// "cublasLt 13.1.0 (heuristic, 32 MiB workspace)"
  [[nodiscard]] std::string description() const;

private:
  struct Shape {
    std::int64_t rows, k, n, x_stride, out_stride;
    bool bias, fp8;
    auto operator<=>(const Shape&) const = default;
  };
  struct Plan;
  Plan& plan(const GemmCall& call);
  void choose(Plan& plan, const GemmCall& call);
  void multiply(Plan& plan, const GemmCall& call, const cublasLtMatmulAlgo_t& algorithm);

  const LtCalls& m_lt;
  GemmMode m_mode;
  cudaStream_t m_stream;
  cublasLtHandle_t m_handle = nullptr;
  DeviceMemory m_workspace;
  std::map<Shape, std::unique_ptr<Plan>> m_plans;
};

} // namespace breakeven::cuda
