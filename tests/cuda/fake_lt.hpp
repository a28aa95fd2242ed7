#pragma once

#include "cuda/fake_cuda.hpp"
#include "cuda/gemm/cublaslt.hpp"

#include <memory>
#include <string>

/// A fake of cublasLt, named as one: nothing is multiplied, but every operand of every product must
/// lie within device memory of the FakeCuda.
class FakeLt {
public:
  explicit FakeLt(const FakeCuda& cuda);
  ~FakeLt();
  FakeLt(const FakeLt&) = delete;
  FakeLt& operator=(const FakeLt&) = delete;

  bool has_algorithm = true; ///< the heuristic finds one
  cublasStatus_t matmul_status = CUBLAS_STATUS_SUCCESS;
  [[nodiscard]] std::size_t alive() const; ///< handles and descriptors that exist
  [[nodiscard]] std::int64_t products() const;
  [[nodiscard]] std::int64_t choices() const; ///< questions to the heuristic
  [[nodiscard]] double flop() const;          ///< of all products
  /// Empty, or what was wrong with the first product that left its memory.
  [[nodiscard]] const std::string& fault() const;

private:
  std::unique_ptr<breakeven::cuda::SubstituteLt> m_substitute;
};
