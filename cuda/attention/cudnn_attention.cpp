#include "cuda/attention/cudnn_attention.hpp"

#include "support/error.hpp"

#if __has_include(<cudnn_backend.h>)
#include "cuda/attention/cudnn_graph.hpp"
#include "cuda/runtime/memory.hpp"

#include <map>
#include <tuple>
#endif

namespace breakeven::cuda {
namespace {

#if __has_include(<cudnn_backend.h>)

/// A compiled graph of one shape.
struct Plan {
  CudnnGraph graph;
  CudnnDescriptor heuristic{CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR};
  CudnnDescriptor operations{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  CudnnDescriptor engine{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR};
  CudnnDescriptor plan{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  DeviceMemory workspace;
  explicit Plan(const AttentionCall& call) : graph(call) {}
};

class CudnnAttention : public AttentionProvider {
public:
  CudnnAttention() { check_cudnn(cudnn()->create(&m_handle), "starting"); }
  ~CudnnAttention() override {
    m_plans.clear();
    static_cast<void>(cudnn()->destroy(m_handle));
  }
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  [[nodiscard]] std::string description() const override {
    return "cuDNN " + cudnn_version() + " attention";
  }
  [[nodiscard]] std::string unsupported_reason(int qk_dim, int v_dim) const override {
    if (qk_dim % 8 == 0 && v_dim % 8 == 0 && qk_dim <= 256 && v_dim <= 256) return "";
    return "cuDNN attention takes head sizes that are multiples of 8 up to 256, not " +
           std::to_string(qk_dim) + " and " + std::to_string(v_dim);
  }
  [[nodiscard]] std::string approximation(int, int) const override { return ""; }
  [[nodiscard]] std::uint64_t workspace_bytes(const AttentionCall&) const override {
    return 0; // each plan has its own
  }

  void run(const AttentionCall& call, void*) override {
    if (call.mask.chunked != 0)
      throw error(error_kind::environment, "attention in chunks does not go through cuDNN: set "
                                           "BREAKEVEN_CUDA_ATTENTION=builtin");
    Plan& chosen = plan_for(call);
    float scale = call.scale, negative = -1e30F;
    std::int32_t keys = call.mask.context + call.mask.queries, queries = call.mask.queries,
                 window = call.mask.window;
    const std::map<std::int64_t, const void*> addresses{
        {CudnnGraph::q, call.q},      {CudnnGraph::k, call.k},
        {CudnnGraph::v, call.v},      {CudnnGraph::out, call.out},
        {CudnnGraph::scale, &scale},  {CudnnGraph::negative, &negative},
        {CudnnGraph::keys, &keys},    {CudnnGraph::queries, &queries},
        {CudnnGraph::window, &window}};
    std::vector<const void*> pointers;
    for (const std::int64_t id : chosen.graph.ids())
      pointers.push_back(addresses.at(id));
    CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    const auto count = static_cast<std::int64_t>(pointers.size());
    const void* workspace = chosen.workspace.data();
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count,
             chosen.graph.ids().data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    pack.finalize("preparing attention");
    check_cudnn(cudnn()->set_stream(m_handle, call.stream), "preparing attention");
    check_cudnn(cudnn()->execute(m_handle, chosen.plan.get(), pack.get()), "starting attention");
  }

private:
  using Key = std::tuple<int, int, int, int, int, int, int, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t>;

  Plan& plan_for(const AttentionCall& c) {
    const Key key{c.heads,       c.kv_heads, c.qk_dim,  c.v_dim,   c.mask.context, c.mask.queries,
                  c.mask.window, c.q_token,  c.k_token, c.v_token, c.v_head};
    std::unique_ptr<Plan>& slot = m_plans[key];
    if (!slot) {
      auto made = std::make_unique<Plan>(c);
      compile(*made);
      slot = std::move(made);
    }
    return *slot;
  }

  /// The heuristic's first engine: what frameworks run too.
  void compile(Plan& p) {
    const auto list = p.graph.operations();
    p.operations.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                     static_cast<std::int64_t>(list.size()), list.data());
    p.operations.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, m_handle);
    p.operations.finalize("recognising attention");
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    p.heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, p.operations);
    p.heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    p.heuristic.finalize("choosing an attention kernel");
    cudnnBackendDescriptor_t engine = p.engine.get();
    std::int64_t found = 0;
    check_cudnn(cudnn()->get_attribute(p.heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &found, &engine),
                "choosing an attention kernel");
    if (found < 1)
      throw error(error_kind::environment, "cuDNN has no attention kernel for this shape: set "
                                           "BREAKEVEN_CUDA_ATTENTION=builtin");
    p.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, m_handle);
    p.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, p.engine);
    p.plan.finalize("compiling attention");
    std::int64_t bytes = 0, one = 0;
    check_cudnn(cudnn()->get_attribute(p.plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                       CUDNN_TYPE_INT64, 1, &one, &bytes),
                "compiling attention");
    p.workspace = DeviceMemory(static_cast<std::uint64_t>(bytes), "cuDNN attention");
  }

  cudnnHandle_t m_handle = nullptr;
  std::map<Key, std::unique_ptr<Plan>> m_plans;
};

std::string missing() {
  return cudnn_missing();
}
std::unique_ptr<AttentionProvider> make() {
  return std::make_unique<CudnnAttention>();
}

#else

std::string missing() {
  return "built without cuDNN's headers";
}
std::unique_ptr<AttentionProvider> make() {
  throw error(error_kind::environment, "attention through cuDNN: " + missing());
}

#endif

} // namespace

AttentionProviderRow cudnn_row() {
  AttentionProviderRow row;
  row.summary = "attention of cuDNN 9, by name only: not yet compared with the built-in one";
  row.by_name_only = true;
  row.unavailable_reason = [](const CudaDevice&) { return missing(); };
  row.create = [](const CudaDevice&) { return make(); };
  return row;
}

} // namespace breakeven::cuda
