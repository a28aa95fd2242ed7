#include "cuda/gemm/cublaslt.hpp"

#include "cuda/runtime/library.hpp"

namespace breakeven::cuda {
namespace {

struct Loaded {
  Library library{"cublasLt", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}};
  LtCalls calls{};
  bool complete = false;

  Loaded() {
    complete = library.get(calls.create, "cublasLtCreate") &&
               library.get(calls.destroy, "cublasLtDestroy") &&
               library.get(calls.get_version, "cublasLtGetVersion") &&
               library.get(calls.desc_create, "cublasLtMatmulDescCreate") &&
               library.get(calls.desc_destroy, "cublasLtMatmulDescDestroy") &&
               library.get(calls.desc_set, "cublasLtMatmulDescSetAttribute") &&
               library.get(calls.layout_create, "cublasLtMatrixLayoutCreate") &&
               library.get(calls.layout_destroy, "cublasLtMatrixLayoutDestroy") &&
               library.get(calls.preference_create, "cublasLtMatmulPreferenceCreate") &&
               library.get(calls.preference_destroy, "cublasLtMatmulPreferenceDestroy") &&
               library.get(calls.preference_set, "cublasLtMatmulPreferenceSetAttribute") &&
               library.get(calls.get_heuristic, "cublasLtMatmulAlgoGetHeuristic") &&
               library.get(calls.matmul, "cublasLtMatmul");
  }
};

const Loaded& loaded() {
  static const Loaded* instance = new Loaded; // CUDA libraries must not be closed at exit
  return *instance;
}

const LtCalls* substitute = nullptr;

} // namespace

const LtCalls* cublaslt() {
  if (substitute != nullptr) return substitute;
  return loaded().complete ? &loaded().calls : nullptr;
}

std::string cublaslt_missing() {
  return cublaslt() != nullptr ? std::string() : loaded().library.missing();
}

SubstituteLt::SubstituteLt(const LtCalls& table) {
  substitute = &table;
}
SubstituteLt::~SubstituteLt() {
  substitute = nullptr;
}

} // namespace breakeven::cuda
