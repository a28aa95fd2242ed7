#include "cuda/compute/gpu_watch.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace breakeven::cuda {

GpuWatch::GpuWatch(const std::string& pci_bus_id, const std::string& nvml_library)
    : m_nvml(nvml_library) {
  if (m_nvml.unavailable_reason().empty()) m_gpu = m_nvml.find_pci(pci_bus_id);
}

void GpuWatch::look() {
  if (!m_gpu) return;
  const node::GpuState state = m_nvml.state(*m_gpu);
  m_throttled = state.throttled();
  ++m_looks;
  if (state.power_capped()) ++m_capped;
  if (state.sm_clock_Hz <= 0) return;
  m_lowest_Hz = m_lowest_Hz > 0 ? std::min(m_lowest_Hz, state.sm_clock_Hz) : state.sm_clock_Hz;
  m_highest_Hz = std::max(m_highest_Hz, state.sm_clock_Hz);
}

std::string GpuWatch::summary() const {
  if (!m_gpu) {
    const std::string& reason = m_nvml.unavailable_reason();
    return "clocks and throttling of the GPU were not watched: " +
           (reason.empty() ? std::string("NVML does not show it") : reason);
  }
  if (m_capped == 0) return "";
  return fmt::format("the GPU was at its power limit in {} of {} samples, with SM clocks of {:.0f} "
                     "to {:.0f} MHz: usual under sustained load, and part of these times",
                     m_capped, m_looks, m_lowest_Hz * 1e-6, m_highest_Hz * 1e-6);
}

} // namespace breakeven::cuda
