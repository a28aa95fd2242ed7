#include "compute/buffer.hpp"
#include "compute/gemm.hpp"

#include <Eigen/Core>
#include <cstring>
#include <omp.h>

namespace breakeven::compute {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Strided = Eigen::OuterStride<>;

class EigenMatrix : public PackedMatrix {
public:
  EigenMatrix(std::int64_t k, std::int64_t n, const void* plain, const void* bias)
      : PackedMatrix(k, n, bias != nullptr), m_weights(static_cast<std::uint64_t>(k * n) * 4),
        m_bias_values(bias != nullptr ? static_cast<std::uint64_t>(n) * 4 : 0) {
    std::memcpy(m_weights.data(), plain, m_weights.size_bytes());
    if (bias != nullptr) std::memcpy(m_bias_values.data(), bias, m_bias_values.size_bytes());
  }
  [[nodiscard]] const float* weights() const { return m_weights.as<float>(); }
  [[nodiscard]] const float* bias_values() const { return m_bias_values.as<float>(); }

private:
  Buffer m_weights, m_bias_values;
};

class EigenGemm : public GemmEngine {
public:
  explicit EigenGemm(int threads) : m_threads(threads) {}

  std::unique_ptr<PackedMatrix> pack(std::int64_t k, std::int64_t n, const void* plain,
                                     const void* bias, std::int64_t) override {
    return std::make_unique<EigenMatrix>(k, n, plain, bias);
  }

  void run(const PackedMatrix& matrix, const GemmCall& call) override {
    const auto& m = dynamic_cast<const EigenMatrix&>(matrix);
    omp_set_num_threads(m_threads);
    Eigen::setNbThreads(m_threads);
    const Eigen::Map<const Matrix, 0, Strided> x(
        static_cast<const float*>(call.x), call.rows, m.k(),
        Strided(call.x_stride != 0 ? call.x_stride : m.k()));
    const Eigen::Map<const Matrix> w(m.weights(), m.k(), m.n());
    Eigen::Map<Matrix, 0, Strided> out(static_cast<float*>(call.out), call.rows, m.n(),
                                       Strided(call.out_stride != 0 ? call.out_stride : m.n()));
    if (call.accumulate)
      out.noalias() += x * w;
    else
      out.noalias() = x * w;
    if (m.bias()) out.rowwise() += Eigen::Map<const Eigen::RowVectorXf>(m.bias_values(), m.n());
  }

  [[nodiscard]] Element element() const override { return Element::fp32; }
  [[nodiscard]] std::string description() const override {
    return "eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
           std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION);
  }

private:
  int m_threads;
};

} // namespace

std::unique_ptr<GemmEngine> make_eigen_gemm(int threads) {
  return std::make_unique<EigenGemm>(threads);
}

} // namespace breakeven::compute
