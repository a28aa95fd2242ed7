#include "cuda/attention/provider.hpp"

#include "cuda/attention/cudnn_attention.hpp"
#include "support/error.hpp"

namespace breakeven::cuda {
namespace {

class BuiltinAttention : public AttentionProvider {
public:
  explicit BuiltinAttention(const CudaDevice& device) : m_multiprocessors(device.multiprocessors) {}

  [[nodiscard]] std::string description() const override { return "builtin flash attention"; }

  [[nodiscard]] std::string unsupported_reason(int qk_dim, int v_dim) const override {
    if (flash_instance(qk_dim, v_dim).qk > 0) return "";
    return "the built-in attention kernel takes head sizes that are multiples of 8 up to 256, "
           "not " +
           std::to_string(qk_dim) + " and " + std::to_string(v_dim);
  }

  [[nodiscard]] std::string approximation(int qk_dim, int v_dim) const override {
    const FlashInstance size = flash_instance(qk_dim, v_dim);
    if (size.qk == qk_dim && size.v == v_dim) return "";
    return "heads of " + std::to_string(qk_dim) + " and " + std::to_string(v_dim) +
           " elements run in a kernel for " + std::to_string(size.qk) + " and " +
           std::to_string(size.v) + ", which takes longer than one made for them";
  }

  [[nodiscard]] std::uint64_t workspace_bytes(const AttentionCall& call) const override {
    return flash_workspace_bytes(call, flash_splits(call, m_multiprocessors));
  }

  void run(const AttentionCall& call, void* workspace) override {
    flash_attention(call, flash_splits(call, m_multiprocessors), workspace);
  }

private:
  int m_multiprocessors;
};

AttentionProviderRow builtin_row() {
  AttentionProviderRow row;
  row.summary = "flash attention on tensor cores, built in";
  row.unavailable_reason = [](const CudaDevice& device) {
    return device.shared_bytes_per_block >= 98304 // the largest instance's tiles
               ? std::string()
               : "the GPU offers less than 96 KiB of shared memory to a block";
  };
  row.create = [](const CudaDevice& device) -> std::unique_ptr<AttentionProvider> {
    return std::make_unique<BuiltinAttention>(device);
  };
  return row;
}

} // namespace

const registry<AttentionProviderRow>& attention_providers() {
  static const registry<AttentionProviderRow> all = [] {
    registry<AttentionProviderRow> rows("attention provider");
    rows.add("builtin", builtin_row());
    rows.add("cudnn", cudnn_row());
    return rows;
  }();
  return all;
}

std::unique_ptr<AttentionProvider> make_attention(const CudaDevice& device,
                                                  const std::string& wanted) {
  if (!wanted.empty()) {
    const AttentionProviderRow& row = attention_providers().at(wanted);
    if (const std::string reason = row.unavailable_reason(device); !reason.empty())
      throw error(error_kind::environment,
                  "attention provider '" + wanted + "' cannot be used: " + reason);
    return row.create(device);
  }
  std::string reasons;
  for (const auto& [name, row] : attention_providers().rows()) {
    if (row.by_name_only) continue;
    const std::string reason = row.unavailable_reason(device);
    if (reason.empty()) return row.create(device);
    reasons += (reasons.empty() ? "" : "; ") + name + ": " + reason;
  }
  throw error(error_kind::environment,
              "no attention provider can be used on " + device.id + ": " + reasons);
}

} // namespace breakeven::cuda
