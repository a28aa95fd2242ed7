#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace breakeven::doctor {

/// What NVIDIA's management library says of one GPU; what it does not say is absent.
struct GpuFacts {
  std::string name;
  std::optional<bool> persistence, mig;
  std::optional<unsigned> power_limit_mW, power_default_mW;
  std::optional<unsigned> link_generation, link_generation_max, link_width, link_width_max;
  std::optional<unsigned> sm_clock_MHz, sm_clock_max_MHz;
  std::optional<unsigned long long> throttle_reasons; ///< bits, see nvml.cpp
  std::optional<unsigned> busy_percent, processes;
  std::optional<std::uint64_t> memory_total_bytes, memory_used_bytes;
};

struct GpuReport {
  std::string reason; ///< why there is nothing to report; "" = the library answered
  std::string driver; ///< version
  std::vector<GpuFacts> gpus;
};

/// Loads libnvidia-ml.so.1 when it is there. Never throws.
GpuReport ask_nvml();

} // namespace breakeven::doctor
