#pragma once

#include "compute/compute.hpp"
#include "compute/layer.hpp"
#include "compute/memory_plan.hpp"

#include <memory>
#include <string>
#include <vector>

namespace breakeven::compute {

/// What one run of a workload did, after scaling to the whole model; for tests and reports.
struct WorkDone {
  std::vector<double> layers; ///< layer passes per kind
  double pairs = 0;           ///< query-key pairs scored, over all heads and layers
  double heads = 0;           ///< LM head passes (embedding and final norm with it)
};

/// A workload of the CPU back end: tells what its last run did, scaled as its seconds are.
class CpuWorkload : public measure::Workload {
public:
  using Workload::Workload;
  [[nodiscard]] const WorkDone& work_done() const { return m_work; }

protected:
  WorkDone m_work;
};

/// Prefill on the CPU: real layers in bf16 where the CPU has the instructions and oneDNN is there,
/// else fp32. A few distinct layers of each kind are kept and taken in turn, so that weights come
/// from memory as they do in a whole model.
class CpuCompute : public Compute {
public:
  /// Throws error::environment for a kind of layer it cannot run, naming it, and when memory does
  /// not suffice.
  CpuCompute(const model::Architecture& architecture, const ComputeOptions& options);
  ~CpuCompute() override;

  [[nodiscard]] const DeviceFacts& facts() const override { return m_facts; }
  [[nodiscard]] const model::Architecture& architecture() const override { return m_architecture; }
  std::unique_ptr<measure::Workload> dense(std::int64_t new_tokens) override;
  std::unique_ptr<measure::Workload> attention(std::size_t kind, std::int64_t context_tokens,
                                               std::int64_t new_tokens) override;
  std::unique_ptr<measure::Workload> step(std::int64_t context_tokens,
                                          std::int64_t new_tokens) override;
  DeviceBuffer& kv_buffer(std::uint64_t bytes) override;
  [[nodiscard]] std::vector<std::string> warnings() const override { return m_warnings; }

  // For the workloads.
  struct Kind {
    std::vector<std::unique_ptr<Layer>> layers;
    std::vector<std::unique_ptr<KvCache>> caches;
    std::size_t next_layer = 0, next_cache = 0;
    Layer& take_layer();
    KvCache* take_cache(); ///< null where the kind does not attend
  };
  [[nodiscard]] Kind& kind(std::size_t index) { return m_kinds[index]; }
  [[nodiscard]] std::size_t kind_count() const { return m_kinds.size(); }
  [[nodiscard]] const ComputeOptions& options() const { return m_options; }
  [[nodiscard]] Workspace& workspace() { return m_workspace; }
  [[nodiscard]] const Runtime& runtime() const { return m_runtime; }
  /// Embedding lookup of `tokens` random tokens into the residual stream.
  void embed(std::int64_t tokens);
  /// Final norm and LM head of the last of `tokens`. Returns seconds, scaled to the vocabulary.
  double head(std::int64_t tokens);
  /// Rotation angles of positions [context, context + tokens).
  void set_rope(std::int64_t context, std::int64_t tokens);
  /// Seconds that a workload of so much work takes here, roughly: to size samples.
  [[nodiscard]] double estimate_s(double flop, double bytes) const;

private:
  void choose_precision();
  void plan(const ComputeOptions& options);
  void build(const ComputeOptions& options);
  void build_workspace();
  void describe();
  void measure_rate();

  model::Architecture m_architecture;
  ComputeOptions m_options;
  DeviceFacts m_facts;
  std::vector<std::string> m_warnings;
  std::unique_ptr<GemmEngine> m_gemm;
  Runtime m_runtime;
  MemoryPlan m_plan;
  Workspace m_workspace;
  std::vector<Kind> m_kinds;
  Buffer m_head, m_embedding, m_final_norm, m_logits;
  std::uint64_t m_token_draws = 0;
  double m_flop_per_s = 0;
  std::unique_ptr<DeviceBuffer> m_kv_buffer;
};

std::unique_ptr<measure::Workload> make_dense_workload(CpuCompute& compute, std::int64_t tokens);
std::unique_ptr<measure::Workload> make_step_workload(CpuCompute& compute, std::int64_t context,
                                                      std::int64_t tokens);
std::unique_ptr<measure::Workload> make_attention_workload(CpuCompute& compute, std::size_t kind,
                                                           std::int64_t context,
                                                           std::int64_t tokens);
std::unique_ptr<DeviceBuffer> make_host_buffer(const Kernels& kernels, std::uint64_t bytes,
                                               int threads);

} // namespace breakeven::compute
