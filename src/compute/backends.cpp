#include "compute/compute.hpp"
#include "compute/cpu_compute.hpp"
#include "support/error.hpp"
#ifdef BREAKEVEN_HAVE_CUDA
#include "cuda/backend.hpp"
#endif

namespace breakeven::compute {
namespace {

Backend cpu_backend() {
  Backend backend;
  backend.summary = "prefill on the CPU: oneDNN or Eigen GEMMs, built-in flash attention";
  backend.unavailable_reason = [] { return std::string(); };
  backend.devices = [] { return std::vector<std::string>{"cpu"}; };
  backend.create = [](const std::string&, const model::Architecture& architecture,
                      const ComputeOptions& options) -> std::unique_ptr<Compute> {
    return std::make_unique<CpuCompute>(architecture, options);
  };
  return backend;
}

Backend cuda_backend() {
#ifdef BREAKEVEN_HAVE_CUDA
  return cuda::backend();
#else
  Backend backend;
  backend.summary = "prefill on NVIDIA GPUs";
  backend.unavailable_reason = [] { return std::string("built without CUDA"); };
  backend.devices = [] { return std::vector<std::string>(); };
  backend.create = [](const std::string& id, const model::Architecture&,
                      const ComputeOptions&) -> std::unique_ptr<Compute> {
    throw error(error_kind::environment, "device '" + id + "' cannot be used: built without CUDA");
  };
  return backend;
#endif
}

registry<Backend> all_backends() {
  registry<Backend> all("device");
  all.add("cuda", cuda_backend());
  all.add("cpu", cpu_backend()); // the last resort of "auto": faster devices go above
  return all;
}

std::string backend_part(const std::string& device) {
  return device.substr(0, device.find(':'));
}

} // namespace

const registry<Backend>& backends() {
  static const registry<Backend> all = all_backends();
  return all;
}

std::string resolve_device(const std::string& name) {
  if (name == "auto") {
    for (const auto& [key, backend] : backends().rows())
      if (backend.unavailable_reason().empty())
        if (const auto devices = backend.devices(); !devices.empty()) return devices.front();
    throw error(error_kind::environment, "no device of any kind is usable here");
  }
  const Backend& backend = backends().at(backend_part(name));
  if (const std::string reason = backend.unavailable_reason(); !reason.empty())
    throw error(error_kind::environment, "device '" + name + "' cannot be used: " + reason);
  const auto devices = backend.devices();
  if (name.find(':') == std::string::npos && !devices.empty()) return devices.front();
  for (const std::string& device : devices)
    if (device == name) return device;
  std::string message = "there is no device '" + printable(name) + "' here; known:";
  for (const std::string& device : devices)
    message += " " + device;
  throw error(error_kind::usage, message);
}

std::unique_ptr<Compute> create(const std::string& device, const model::Architecture& architecture,
                                const ComputeOptions& options) {
  const std::string id = resolve_device(device);
  return backends().at(backend_part(id)).create(id, architecture, options);
}

} // namespace breakeven::compute
