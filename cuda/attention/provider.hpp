#pragma once

#include "cuda/attention/flash_attention.hpp"
#include "cuda/runtime/device.hpp"
#include "support/registry.hpp"

#include <functional>
#include <memory>
#include <string>

namespace breakeven::cuda {

/// One implementation of attention on the GPU.
class AttentionProvider {
public:
  virtual ~AttentionProvider() = default;
  /// "builtin flash attention"
  [[nodiscard]] virtual std::string description() const = 0;
  /// Empty when it can run these head sizes, else why not.
  [[nodiscard]] virtual std::string unsupported_reason(int qk_dim, int v_dim) const = 0;
  /// What these head sizes cost more than they would in a kernel made for them; empty when nothing.
  [[nodiscard]] virtual std::string approximation(int qk_dim, int v_dim) const = 0;
  /// Device memory that run() needs for this call.
  [[nodiscard]] virtual std::uint64_t workspace_bytes(const AttentionCall& call) const = 0;
  /// Queues the call; never waits for the device.
  virtual void run(const AttentionCall& call, void* workspace) = 0;
};

struct AttentionProviderRow {
  std::string summary;
  bool by_name_only = false; ///< never chosen of its own accord
  /// Empty when usable on the device, else a reason.
  std::function<std::string(const CudaDevice&)> unavailable_reason;
  std::function<std::unique_ptr<AttentionProvider>(const CudaDevice&)> create;
};

/// All providers, best first.
const registry<AttentionProviderRow>& attention_providers();

/// The provider called `wanted`, or the first that is usable when it is empty. Throws
/// error::usage for an unknown name and error::environment, with the reason, for an unusable one.
std::unique_ptr<AttentionProvider> make_attention(const CudaDevice& device,
                                                  const std::string& wanted);

} // namespace breakeven::cuda
