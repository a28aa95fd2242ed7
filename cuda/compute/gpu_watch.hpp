#pragma once

#include "node/nvml.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace breakeven::cuda {

/// What NVML says of one GPU while it works: whether a sample was throttled, and how often the
/// power limit held it back, which is normal and only recorded.
class GpuWatch {
public:
  /// Never throws: without NVML nothing is watched, and summary() says why.
  GpuWatch(const std::string& pci_bus_id, const std::string& nvml_library);

  /// Reads the GPU's state: to be called while work is running on it.
  void look();
  /// At the last look the GPU was too hot or braked by its board.
  [[nodiscard]] bool throttled() const { return m_throttled; }
  /// "" when there is nothing to tell, else a sentence for the file's warnings.
  [[nodiscard]] std::string summary() const;

private:
  node::Nvml m_nvml;
  std::optional<std::size_t> m_gpu;
  bool m_throttled = false;
  std::size_t m_looks = 0, m_capped = 0;
  double m_lowest_Hz = 0, m_highest_Hz = 0;
};

} // namespace breakeven::cuda
