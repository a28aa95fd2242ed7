#pragma once

#include "compute/device_buffer.hpp"
#include "measure/workload.hpp"
#include "model/architecture.hpp"
#include "support/registry.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace breakeven::compute {

struct DeviceFacts {
  std::string id;            ///< "cpu", "cuda:0"
  std::string name;          ///< marketing name
  std::string kernel_source; ///< "onednn 2.6.3 avx512_core_bf16 + builtin flash attention", ...
  std::string compute_dtype; ///< "bf16", "fp32"
  int threads = 0;           ///< CPU only
  /// Highest rate ever seen or documented for this device, for sanity gates; 0 = unknown.
  double peak_flop_per_s = 0;
  double peak_memory_Bps = 0;
  std::uint64_t memory_bytes = 0; ///< memory this process may still use on the device
};

struct ComputeOptions {
  int threads = 0; ///< 0 = as many as affinity and cgroup quota allow
  std::int64_t max_context_tokens = 32768;
  std::int64_t chunk_tokens = 2048;     ///< largest `new` that will be asked for
  std::uint64_t memory_limit_bytes = 0; ///< 0 = what the machine allows
  std::int64_t measured_layers =
      0; ///< distinct layers to build per kind; 0 = chosen by memory and time
  /// Every run of step() and dense() passes through all layers instead of a scaled sample (those
  /// beyond `measured_layers` reuse weights in turn): to check the scaling, and for benchmarks.
  bool full_depth = false;
  /// Mixtures of experts: token counts of experts follow 1 / rank^skew; 0 spreads them evenly.
  double expert_skew = 0.3;
  std::uint64_t seed = 1;
};

/// Runs real prefill work of one model on one device. Workloads borrow the Compute: it must
/// outlive them. Only one workload may run at a time. Every workload's samples, after its scale,
/// are seconds for the WHOLE model (all layers of all kinds it covers).
class Compute {
public:
  virtual ~Compute() = default;
  [[nodiscard]] virtual const DeviceFacts& facts() const = 0;
  [[nodiscard]] virtual const model::Architecture& architecture() const = 0;

  /// Everything of a step but attention over the cache: norms, GEMMs, RoPE, KV write, activation,
  /// recurrent scans, embedding, LM head of the last token. Depends on `new_tokens` only.
  virtual std::unique_ptr<measure::Workload> dense(std::int64_t new_tokens) = 0;

  /// Attention of `new_tokens` queries over `context_tokens + new_tokens` keys (bottom-right
  /// causal), in all layers of architecture().kinds[kind]. Null when that kind does not attend.
  virtual std::unique_ptr<measure::Workload>
  attention(std::size_t kind, std::int64_t context_tokens, std::int64_t new_tokens) = 0;

  /// One whole forward pass, parts in their real order, sampled layers scaled to full depth.
  virtual std::unique_ptr<measure::Workload> step(std::int64_t context_tokens,
                                                  std::int64_t new_tokens) = 0;

  /// The KV buffer that tiers load into, at least `bytes` large; the same one on each call, grown
  /// on demand. Throws error::environment when there is no memory for it.
  virtual DeviceBuffer& kv_buffer(std::uint64_t bytes) = 0;

  /// Sentences about anything that makes the numbers less than the ideal ("no bf16 units: ...").
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }
};

struct Backend {
  std::string summary; ///< one line for --list
  /// Empty when usable here, else the reason why not.
  std::function<std::string()> unavailable_reason;
  /// Device ids this back end offers here, best first: {"cpu"}, {"cuda:0", "cuda:1"}.
  std::function<std::vector<std::string>()> devices;
  std::function<std::unique_ptr<Compute>(const std::string& device, const model::Architecture&,
                                         const ComputeOptions&)>
      create;
};

/// All back ends compiled in, by the part of the device id before ':'.
const registry<Backend>& backends();

/// Resolves "auto", "cpu", "cuda:1" to a device id. Throws error::usage for an unknown name and
/// error::environment, with the reason, for an unavailable one.
std::string resolve_device(const std::string& name);

std::unique_ptr<Compute> create(const std::string& device, const model::Architecture& architecture,
                                const ComputeOptions& options);

} // namespace breakeven::compute
