#include "cuda/backend.hpp"

#include "cuda/runtime/device.hpp"
#include "support/error.hpp"

namespace breakeven::cuda {

compute::Backend backend() {
  compute::Backend backend;
  backend.summary = "prefill on NVIDIA GPUs: cublasLt GEMMs, flash attention";
  backend.unavailable_reason = [] { return no_device_reason(); };
  backend.devices = [] {
    std::vector<std::string> ids;
    for (const CudaDevice& device : visible_devices())
      ids.push_back(device.id);
    return ids;
  };
  backend.create = [](const std::string& id, const model::Architecture& architecture,
                      const compute::ComputeOptions&) -> std::unique_ptr<compute::Compute> {
    const CudaDevice device = open_device(id);
    throw error(error_kind::environment, "the prefill of " + architecture.name + " on " +
                                             device.id + " is not built into this version");
  };
  return backend;
}

} // namespace breakeven::cuda
