#include "cuda/gemm/gemm.hpp"

#include "cuda/runtime/check.hpp"
#include "cuda/runtime/stream.hpp"
#include "support/error.hpp"

#include <array>
#include <limits>

namespace breakeven::cuda {
namespace {

constexpr std::uint64_t workspace_bytes = std::uint64_t{32} << 20;
constexpr int candidates = 16;

const LtCalls& required_cublaslt() {
  const LtCalls* calls = cublaslt();
  if (calls == nullptr)
    throw error(error_kind::environment, "GEMMs on the GPU need cublasLt: " + cublaslt_missing());
  return *calls;
}

void check_lt(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw error(error_kind::environment, std::string("cublasLt failed while ") + doing + ": status " +
                                           std::to_string(static_cast<int>(status)) +
                                           " (see cublasStatus_t); check the driver and free "
                                           "device memory");
}

} // namespace

/// Descriptors and the chosen algorithm of one shape.
struct Gemm::Plan {
  explicit Plan(const LtCalls& calls) : lt(calls) {}
  ~Plan() {
    for (cublasLtMatrixLayout_t layout : {a, b, d})
      if (layout != nullptr) static_cast<void>(lt.layout_destroy(layout));
    if (desc != nullptr) static_cast<void>(lt.desc_destroy(desc));
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const LtCalls& lt;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
};

Gemm::Gemm(GemmMode mode, cudaStream_t stream)
    : m_lt(required_cublaslt()), m_mode(mode), m_stream(stream),
      m_workspace(workspace_bytes, "the GEMM workspace") {
  check_lt(m_lt.create(&m_handle), "starting");
}

Gemm::~Gemm() {
  m_plans.clear();
  if (m_handle != nullptr) static_cast<void>(m_lt.destroy(m_handle));
}

Gemm::Plan& Gemm::plan(const GemmCall& call) {
  const bool fp8 = call.x_scale != nullptr;
  const Shape shape{call.rows, call.k, call.n, call.x_stride, call.out_stride, call.bias != nullptr,
                    fp8};
  std::unique_ptr<Plan>& slot = m_plans[shape];
  if (slot) return *slot;
  auto made = std::make_unique<Plan>(m_lt);
  // cublasLt is column-major: our [n][k] weights are its k x n matrix, transposed.
  check_lt(m_lt.desc_create(&made->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a GEMM");
  const cublasOperation_t transposed = CUBLAS_OP_T;
  check_lt(m_lt.desc_set(made->desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed)),
           "describing a GEMM");
  if (call.bias != nullptr) {
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    const cudaDataType_t type = CUDA_R_16BF;
    check_lt(m_lt.desc_set(made->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)),
             "describing a GEMM with bias");
    check_lt(m_lt.desc_set(made->desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof(type)),
             "describing a GEMM with bias");
  }
  const cudaDataType_t in = fp8 ? CUDA_R_8F_E4M3 : CUDA_R_16BF;
  const auto k = static_cast<std::uint64_t>(call.k), n = static_cast<std::uint64_t>(call.n);
  const auto rows = static_cast<std::uint64_t>(call.rows);
  check_lt(m_lt.layout_create(&made->a, in, k, n, call.k), "describing weights");
  check_lt(m_lt.layout_create(&made->b, in, k, rows, call.x_stride > 0 ? call.x_stride : call.k),
           "describing activations");
  check_lt(m_lt.layout_create(&made->d, CUDA_R_16BF, n, rows,
                              call.out_stride > 0 ? call.out_stride : call.n),
           "describing a result");
  choose(*made, call);
  slot = std::move(made);
  return *slot;
}

void Gemm::choose(Plan& plan, const GemmCall& call) {
  cublasLtMatmulPreference_t preference = nullptr;
  check_lt(m_lt.preference_create(&preference), "asking for an algorithm");
  std::array<cublasLtMatmulHeuristicResult_t, candidates> results{};
  int found = 0;
  cublasStatus_t status = m_lt.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                              &workspace_bytes, sizeof(workspace_bytes));
  if (status == CUBLAS_STATUS_SUCCESS)
    status =
        m_lt.get_heuristic(m_handle, plan.desc, plan.a, plan.b, plan.d, plan.d, preference,
                           m_mode == GemmMode::autotuned ? candidates : 1, results.data(), &found);
  static_cast<void>(m_lt.preference_destroy(preference));
  if (status != CUBLAS_STATUS_SUCCESS || found == 0)
    throw error(error_kind::environment,
                "cublasLt has no " + std::string(call.x_scale != nullptr ? "e4m3" : "bf16") +
                    " algorithm for a GEMM of " + std::to_string(call.rows) + " x " +
                    std::to_string(call.k) + " x " + std::to_string(call.n) + " on this device");
  plan.algorithm = results.front().algo;
  if (m_mode == GemmMode::heuristic) return;
  double best = std::numeric_limits<double>::max();
  Event start, end;
  for (int i = 0; i < found; ++i) {
    const cublasLtMatmulAlgo_t& algorithm = results[static_cast<std::size_t>(i)].algo;
    multiply(plan, call, algorithm); // warm-up
    constexpr int repetitions = 5;
    start.record(m_stream);
    for (int r = 0; r < repetitions; ++r)
      multiply(plan, call, algorithm);
    end.record(m_stream);
    end.synchronize();
    const double seconds = seconds_between(start, end);
    if (seconds >= best) continue;
    best = seconds;
    plan.algorithm = algorithm;
  }
}

void Gemm::multiply(Plan& plan, const GemmCall& call, const cublasLtMatmulAlgo_t& algorithm) {
  const auto set_pointer = [&](cublasLtMatmulDescAttributes_t attribute, const void* pointer) {
    check_lt(
        m_lt.desc_set(plan.desc, attribute, static_cast<const void*>(&pointer), sizeof(pointer)),
        "setting an address");
  };
  if (call.bias != nullptr) set_pointer(CUBLASLT_MATMUL_DESC_BIAS_POINTER, call.bias);
  if (call.x_scale != nullptr) {
    set_pointer(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, call.w_scale);
    set_pointer(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, call.x_scale);
  }
  const float one = 1, zero = 0;
  check_lt(m_lt.matmul(m_handle, plan.desc, &one, call.weights, plan.a, call.x, plan.b, &zero,
                       call.out, plan.d, call.out, plan.d, &algorithm, m_workspace.data(),
                       workspace_bytes, m_stream),
           "multiplying");
}

void Gemm::run(const GemmCall& call) {
  if (call.rows == 0) return;
  Plan& chosen = plan(call);
  multiply(chosen, call, chosen.algorithm);
}

void Gemm::prepare(const GemmCall& call) {
  if (call.rows > 0) static_cast<void>(plan(call));
}

std::string Gemm::description() const {
  const std::size_t version = m_lt.get_version(); // 130100 = 13.1.0
  return "cublasLt " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         "." + std::to_string(version % 100) +
         (m_mode == GemmMode::autotuned ? " (autotuned: faster than engines run, 32 MiB workspace)"
                                        : " (heuristic, 32 MiB workspace)");
}

} // namespace breakeven::cuda
