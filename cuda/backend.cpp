#include "cuda/backend.hpp"

#include "cuda/compute/cuda_compute.hpp"
#include "cuda/gemm/cublaslt.hpp"
#include "cuda/runtime/device.hpp"

namespace breakeven::cuda {

compute::Backend backend() {
  compute::Backend backend;
  backend.summary = "prefill on NVIDIA GPUs: cublasLt GEMMs, flash attention";
  backend.unavailable_reason = [] {
    const std::string reason = no_device_reason();
    return reason.empty() ? cublaslt_missing() : reason;
  };
  backend.devices = [] {
    const std::vector<CudaDevice> devices = visible_devices();
    std::vector<std::string> ids;
    for (const CudaDevice& device : devices)
      ids.push_back(device.id);
    for (const CudaDevice& device : devices) // the same ones by their other name
      ids.push_back("cuda:" + device.uuid);
    return ids;
  };
  backend.create = [](const std::string& id, const model::Architecture& architecture,
                      const compute::ComputeOptions& options) -> std::unique_ptr<compute::Compute> {
    return std::make_unique<CudaCompute>(id, architecture, options,
                                         CudaSettings::from_environment());
  };
  return backend;
}

} // namespace breakeven::cuda
