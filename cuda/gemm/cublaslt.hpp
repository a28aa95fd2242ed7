#pragma once

#include <cublasLt.h>

#include <string>

namespace breakeven::cuda {

/// The functions of cublasLt that are called, found in the library at run time.
struct LtCalls {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtGetVersion) get_version;
  decltype(&cublasLtMatmulDescCreate) desc_create;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_create;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&cublasLtMatmulAlgoGetHeuristic) get_heuristic;
  decltype(&cublasLtMatmul) matmul;
};

/// The table in force, loaded at the first call. Null where the library is missing or too old;
/// cublaslt_missing() then says why.
const LtCalls* cublaslt();
/// Empty when cublaslt() is there, else what is missing and what to do.
std::string cublaslt_missing();

/// For tests: puts a table in force for the life of this object.
class SubstituteLt {
public:
  explicit SubstituteLt(const LtCalls& table);
  ~SubstituteLt();
  SubstituteLt(const SubstituteLt&) = delete;
  SubstituteLt& operator=(const SubstituteLt&) = delete;
};

} // namespace breakeven::cuda
