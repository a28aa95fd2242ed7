#include "cuda/fake_lt.hpp"

#include <map>

namespace {

struct Layout {
  cudaDataType type;
  std::uint64_t rows, columns;
  std::int64_t stride;
  [[nodiscard]] std::uint64_t bytes() const {
    const std::uint64_t size = type == CUDA_R_16BF ? 2 : 1;
    return ((columns - 1) * static_cast<std::uint64_t>(stride) + rows) * size;
  }
};

struct State {
  const FakeCuda* cuda = nullptr;
  FakeLt* owner = nullptr;
  std::map<void*, Layout> layouts;
  std::map<void*, std::map<int, const void*>> descs;
  std::size_t handles = 0, preferences = 0;
  std::int64_t products = 0, choices = 0;
  double flop = 0;
  std::string fault;
  std::uintptr_t next = 1;
};
State* state = nullptr;

template <class Handle>
Handle new_handle() {
  return reinterpret_cast<Handle>(++state->next); // NOLINT: never dereferenced
}

void require(const void* address, std::uint64_t bytes, const char* what) {
  if (state->fault.empty() && !state->cuda->is_device(address, bytes))
    state->fault =
        std::string(what) + " of product " + std::to_string(state->products) + " leaves its memory";
}

breakeven::cuda::LtCalls make_table() {
  breakeven::cuda::LtCalls c{};
  c.create = [](cublasLtHandle_t* handle) {
    *handle = new_handle<cublasLtHandle_t>();
    ++state->handles;
    return CUBLAS_STATUS_SUCCESS;
  };
  c.destroy = [](cublasLtHandle_t) {
    --state->handles;
    return CUBLAS_STATUS_SUCCESS;
  };
  c.get_version = [] { return std::size_t{130100}; };
  c.desc_create = [](cublasLtMatmulDesc_t* desc, cublasComputeType_t, cudaDataType_t) {
    *desc = new_handle<cublasLtMatmulDesc_t>();
    state->descs[*desc];
    return CUBLAS_STATUS_SUCCESS;
  };
  c.desc_destroy = [](cublasLtMatmulDesc_t desc) {
    state->descs.erase(desc);
    return CUBLAS_STATUS_SUCCESS;
  };
  c.desc_set = [](cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                  const void* value, std::size_t size) {
    if (size == sizeof(void*))
      state->descs[desc][attribute] = *static_cast<const void* const*>(value);
    return CUBLAS_STATUS_SUCCESS;
  };
  c.layout_create = [](cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows,
                       std::uint64_t columns, std::int64_t stride) {
    *layout = new_handle<cublasLtMatrixLayout_t>();
    state->layouts[*layout] = {type, rows, columns, stride};
    return CUBLAS_STATUS_SUCCESS;
  };
  c.layout_destroy = [](cublasLtMatrixLayout_t layout) {
    state->layouts.erase(layout);
    return CUBLAS_STATUS_SUCCESS;
  };
  c.preference_create = [](cublasLtMatmulPreference_t* preference) {
    *preference = new_handle<cublasLtMatmulPreference_t>();
    ++state->preferences;
    return CUBLAS_STATUS_SUCCESS;
  };
  c.preference_destroy = [](cublasLtMatmulPreference_t) {
    --state->preferences;
    return CUBLAS_STATUS_SUCCESS;
  };
  c.preference_set = [](cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                        const void*, std::size_t) { return CUBLAS_STATUS_SUCCESS; };
  c.get_heuristic = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                       cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t[],
                       int* found) {
    ++state->choices;
    *found = state->owner->has_algorithm ? 1 : 0;
    return CUBLAS_STATUS_SUCCESS;
  };
  c.matmul = [](cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void*, const void* a,
                cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                const void*, const void*, cublasLtMatrixLayout_t, void* d,
                cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*, void* workspace,
                std::size_t workspace_bytes, cudaStream_t) {
    const Layout &la = state->layouts.at(a_layout), &lb = state->layouts.at(b_layout),
                 &ld = state->layouts.at(d_layout);
    require(a, la.bytes(), "the weights");
    require(b, lb.bytes(), "the activations");
    require(d, ld.bytes(), "the result");
    require(workspace, workspace_bytes, "the workspace");
    const auto& attributes = state->descs.at(desc);
    if (const auto bias = attributes.find(CUBLASLT_MATMUL_DESC_BIAS_POINTER);
        bias != attributes.end())
      require(bias->second, ld.rows * 2, "the bias");
    if (la.type != CUDA_R_16BF) {
      require(attributes.at(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER), 4, "the weight scale");
      require(attributes.at(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER), 4, "the activation scale");
    }
    if (state->fault.empty() && (la.rows != lb.rows || la.columns != ld.rows ||
                                 lb.columns != ld.columns || la.type != lb.type))
      state->fault = "the operands of product " + std::to_string(state->products) + " do not fit";
    ++state->products;
    state->flop += 2.0 * static_cast<double>(la.rows) * static_cast<double>(la.columns) *
                   static_cast<double>(lb.columns);
    return state->owner->matmul_status;
  };
  return c;
}

} // namespace

FakeLt::FakeLt(const FakeCuda& cuda) {
  state = new State;
  state->cuda = &cuda;
  state->owner = this;
  static const breakeven::cuda::LtCalls table = make_table();
  m_substitute = std::make_unique<breakeven::cuda::SubstituteLt>(table);
}

FakeLt::~FakeLt() {
  m_substitute.reset();
  delete state;
  state = nullptr;
}

std::size_t FakeLt::alive() const {
  return state->layouts.size() + state->descs.size() + state->handles + state->preferences;
}
std::int64_t FakeLt::products() const {
  return state->products;
}
std::int64_t FakeLt::choices() const {
  return state->choices;
}
double FakeLt::flop() const {
  return state->flop;
}
const std::string& FakeLt::fault() const {
  return state->fault;
}
