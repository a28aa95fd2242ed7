#pragma once

#include "compute/compute.hpp"
#include "compute/memory_plan.hpp"
#include "cuda/compute/gpu_watch.hpp"
#include "cuda/compute/layer.hpp"
#include "cuda/runtime/stream.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace breakeven::cuda {

/// What the user may ask of the back end through the environment.
struct CudaSettings {
  GemmMode gemm = GemmMode::heuristic;
  std::string attention; ///< name of a provider; empty: the best that is usable
  std::string nvml_library = node::Nvml::default_library();
  /// From BREAKEVEN_CUDA_GEMM (heuristic, autotuned) and BREAKEVEN_CUDA_ATTENTION. Throws
  /// error::usage for other values.
  static CudaSettings from_environment();
};

/// Prefill on one GPU: real layers, a few distinct ones of each kind taken in turn. All work goes
/// to one stream; a workload is recorded as CUDA graphs once and timed by events. Samples are of
/// the sustained regime: the device has been busy for about a second before each.
class CudaCompute : public compute::Compute {
public:
  /// Throws error::environment for a kind of layer it cannot run, naming it, when a library is
  /// missing, and when memory does not suffice.
  CudaCompute(const std::string& device_id, const model::Architecture& architecture,
              const compute::ComputeOptions& options, const CudaSettings& settings);
  ~CudaCompute() override;

  [[nodiscard]] const compute::DeviceFacts& facts() const override { return m_facts; }
  [[nodiscard]] const model::Architecture& architecture() const override { return m_architecture; }
  std::unique_ptr<measure::Workload> dense(std::int64_t new_tokens) override;
  std::unique_ptr<measure::Workload> attention(std::size_t kind, std::int64_t context_tokens,
                                               std::int64_t new_tokens) override;
  std::unique_ptr<measure::Workload> step(std::int64_t context_tokens,
                                          std::int64_t new_tokens) override;
  compute::DeviceBuffer& kv_buffer(std::uint64_t bytes) override;
  [[nodiscard]] std::vector<std::string> warnings() const override;

  // For the workloads.
  struct Kind {
    std::vector<std::unique_ptr<Layer>> layers;
    std::vector<KvCache> caches;
    std::size_t next_layer = 0, next_cache = 0;
    Layer& take_layer();
    KvCache* take_cache(); ///< null where the kind does not attend
  };
  [[nodiscard]] Kind& kind(std::size_t index) { return m_kinds[index]; }
  [[nodiscard]] const compute::ComputeOptions& options() const { return m_options; }
  [[nodiscard]] cudaStream_t stream() const { return m_stream.get(); }
  /// Embedding lookup of `tokens` random tokens into the residual stream.
  void embed(std::int64_t tokens);
  /// Final norm and LM head of the last of `tokens`: the rows of the head that are kept.
  void head(std::int64_t tokens);
  /// Vocabulary divided by the rows of the head that are kept.
  [[nodiscard]] double head_scale() const;
  /// Rotation angles of positions [context, context + tokens).
  void set_rope(std::int64_t context, std::int64_t tokens);
  /// Seconds that so much work takes here, roughly: to size samples.
  [[nodiscard]] double estimate_s(double flop, double bytes) const;
  /// Runs `work` (which returns device seconds) again and again until the device has lately been
  /// busy for sustained_s more than it has been idle.
  void keep_busy(const std::function<double()>& work);
  [[nodiscard]] GpuWatch& watch() { return m_watch; }
  /// Tells that work of so many device seconds has just ended.
  void was_busy(double seconds);

  static constexpr double sustained_s = 1.0;

private:
  void check_kinds();
  void plan();
  void build();
  void build_workspace();
  void describe();

  model::Architecture m_architecture;
  compute::ComputeOptions m_options;
  compute::DeviceFacts m_facts;
  std::vector<std::string> m_warnings;
  CudaDevice m_device;
  GpuWatch m_watch;
  Stream m_stream;
  std::unique_ptr<AttentionProvider> m_attention;
  Gemm m_gemm;
  Workspace m_workspace;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, DeviceRouting> m_routings;
  Runtime m_runtime;
  compute::MemoryPlan m_plan;
  std::vector<Kind> m_kinds;
  Linear m_head;
  DeviceMemory m_embedding, m_final_norm, m_logits;
  double m_busy_s = 0; ///< see keep_busy()
  double m_last_end_s = 0;
  std::unique_ptr<compute::DeviceBuffer> m_kv_buffer;
};

std::unique_ptr<measure::Workload> make_dense_workload(CudaCompute& compute, std::int64_t tokens);
std::unique_ptr<measure::Workload> make_step_workload(CudaCompute& compute, std::int64_t context,
                                                      std::int64_t tokens);
std::unique_ptr<measure::Workload> make_attention_workload(CudaCompute& compute, std::size_t kind,
                                                           std::int64_t context,
                                                           std::int64_t tokens);

} // namespace breakeven::cuda
