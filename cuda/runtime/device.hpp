#pragma once

#include "cuda/runtime/calls.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::cuda {

/// One GPU, or one MIG slice, as the CUDA runtime numbers them (CUDA_VISIBLE_DEVICES applied).
struct CudaDevice {
  int ordinal = 0;
  std::string id;   ///< "cuda:0"
  std::string name; ///< "NVIDIA H200"
  std::string uuid; ///< "GPU-..." or "MIG-..." as nvidia-smi -L prints it
  std::string pci_bus_id;
  int major = 0, minor = 0; ///< compute capability
  int multiprocessors = 0;
  int clock_khz = 0;        ///< highest SM clock
  int memory_clock_khz = 0; ///< 0: unknown
  int memory_bus_bits = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t l2_bytes = 0;
  std::uint64_t shared_bytes_per_block = 0; ///< most that a kernel may opt in to
  bool integrated = false;
  [[nodiscard]] int sm() const { return major * 10 + minor; }
};

/// Oldest compute capability the kernels are built for: 8.0, the first with bf16 tensor cores.
inline constexpr int oldest_sm = 80;

/// Empty when at least one GPU can be used, else a short reason: "no driver", "the driver supports
/// CUDA 12.2 but this build needs 13.0", "no GPU is visible", ...
std::string no_device_reason();

/// All visible devices that this build can use, by ordinal. Empty where there is no driver.
std::vector<CudaDevice> visible_devices();

/// Makes a device current for this thread: by ordinal ("cuda:1", "cuda"), or by UUID or its
/// beginning ("cuda:GPU-3f2a", "cuda:MIG-..."). Throws error::environment when there is none, it is
/// too old or busy; error::usage for a name that matches no visible device or several.
CudaDevice open_device(const std::string& name);

/// The visible device that `name` means, without opening it. Throws as open_device().
CudaDevice find_device(const std::string& name);

} // namespace breakeven::cuda
