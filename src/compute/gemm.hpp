#pragma once

#include "compute/kernels.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace breakeven::compute {

/// One weight matrix [k][n], with its bias if any, in the layout its library wants.
class PackedMatrix {
public:
  PackedMatrix(std::int64_t k, std::int64_t n, bool bias) : m_k(k), m_n(n), m_bias(bias) {}
  virtual ~PackedMatrix() = default;
  PackedMatrix(const PackedMatrix&) = delete;
  PackedMatrix& operator=(const PackedMatrix&) = delete;
  [[nodiscard]] std::int64_t k() const { return m_k; }
  [[nodiscard]] std::int64_t n() const { return m_n; }
  [[nodiscard]] bool bias() const { return m_bias; }

private:
  std::int64_t m_k, m_n;
  bool m_bias;
};

/// One product of the matrix: out[rows][n] (+)= x[rows][k] * w + bias. Strides in elements between
/// rows; 0 means dense.
struct GemmCall {
  const void* x = nullptr;
  std::int64_t rows = 0;
  void* out = nullptr;
  bool accumulate = false; ///< add to what `out` holds (residual connections)
  std::int64_t x_stride = 0;
  std::int64_t out_stride = 0;
};

/// A GEMM library in one precision. Not thread-safe; each call uses all its threads.
class GemmEngine {
public:
  virtual ~GemmEngine() = default;
  /// `plain` is [k][n] row-major, `bias` n elements or null, both in this engine's element type.
  /// `rows_hint`: how many rows the layout should favour. Throws error::environment.
  virtual std::unique_ptr<PackedMatrix> pack(std::int64_t k, std::int64_t n, const void* plain,
                                             const void* bias, std::int64_t rows_hint) = 0;
  virtual void run(const PackedMatrix& weights, const GemmCall& call) = 0;
  [[nodiscard]] virtual Element element() const = 0;
  /// "onednn 2.6.3 brg:avx512_core_bf16", "eigen 3.4.0"
  [[nodiscard]] virtual std::string description() const = 0;
};

/// Null when built without oneDNN or when it has nothing but reference code for this element here.
std::unique_ptr<GemmEngine> make_onednn_gemm(Element element, int threads);
/// int8 weights (one scale per column) and activations (one per row, found as they come) between
/// bf16 inputs and outputs. Null without oneDNN or without int8 dot-product instructions.
std::unique_ptr<GemmEngine> make_onednn_int8_gemm(int threads);
/// fp32 only; always available.
std::unique_ptr<GemmEngine> make_eigen_gemm(int threads);

} // namespace breakeven::compute
