#include "doctor/gpu_facts.hpp"

#include <dlfcn.h>

#include <array>
#include <cstring>

// The few declarations of NVIDIA's management library that are used, after its public API
// reference (docs.nvidia.com/deploy/nvml-api), so that neither headers nor the library are needed
// to build.
namespace breakeven::doctor {
namespace {

using Device = void*;
struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
constexpr int success = 0;
constexpr unsigned name_bytes = 96, clock_sm = 1;

class Library {
public:
  Library() : m_handle(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (m_handle != nullptr) dlclose(m_handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  [[nodiscard]] bool loaded() const { return m_handle != nullptr; }

  /// Calls a function that returns nvmlReturn_t; false when it is absent or fails.
  template <class... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(m_handle, name));
    return function != nullptr && function(arguments...) == success;
  }
  template <class Value, class... Arguments>
  std::optional<Value> get(const char* name, Device device, Arguments... arguments) const {
    Value value{};
    if (!call(name, device, arguments..., &value)) return std::nullopt;
    return value;
  }

private:
  void* m_handle;
};

std::optional<bool> flag(const std::optional<unsigned>& value) {
  if (!value) return std::nullopt;
  return *value != 0;
}

GpuFacts facts_of(const Library& nvml, Device device) {
  GpuFacts gpu;
  std::array<char, name_bytes> name{};
  if (nvml.call("nvmlDeviceGetName", device, name.data(), name_bytes - 1)) gpu.name = name.data();
  gpu.persistence = flag(nvml.get<unsigned>("nvmlDeviceGetPersistenceMode", device));
  unsigned mig = 0, pending = 0;
  if (nvml.call("nvmlDeviceGetMigMode", device, &mig, &pending)) gpu.mig = mig != 0;
  gpu.power_limit_mW = nvml.get<unsigned>("nvmlDeviceGetPowerManagementLimit", device);
  gpu.power_default_mW = nvml.get<unsigned>("nvmlDeviceGetPowerManagementDefaultLimit", device);
  gpu.link_generation = nvml.get<unsigned>("nvmlDeviceGetCurrPcieLinkGeneration", device);
  gpu.link_generation_max = nvml.get<unsigned>("nvmlDeviceGetMaxPcieLinkGeneration", device);
  gpu.link_width = nvml.get<unsigned>("nvmlDeviceGetCurrPcieLinkWidth", device);
  gpu.link_width_max = nvml.get<unsigned>("nvmlDeviceGetMaxPcieLinkWidth", device);
  gpu.sm_clock_MHz = nvml.get<unsigned>("nvmlDeviceGetClockInfo", device, clock_sm);
  gpu.sm_clock_max_MHz = nvml.get<unsigned>("nvmlDeviceGetMaxClockInfo", device, clock_sm);
  gpu.throttle_reasons =
      nvml.get<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device);
  if (const auto used = nvml.get<Utilization>("nvmlDeviceGetUtilizationRates", device))
    gpu.busy_percent = used->gpu;
  if (const auto memory = nvml.get<Memory>("nvmlDeviceGetMemoryInfo", device)) {
    gpu.memory_total_bytes = memory->total;
    gpu.memory_used_bytes = memory->used;
  }
  // With room for none it fails, and says how many there are.
  unsigned processes = 0;
  if (nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &processes,
                static_cast<void*>(nullptr)) ||
      processes > 0)
    gpu.processes = processes;
  return gpu;
}

} // namespace

GpuReport ask_nvml() {
  GpuReport report;
  const Library nvml;
  if (!nvml.loaded()) {
    report.reason = "none: libnvidia-ml.so.1 is not here";
    return report;
  }
  if (!nvml.call("nvmlInit_v2")) {
    report.reason = "libnvidia-ml.so.1 is here, but no driver answers";
    return report;
  }
  std::array<char, name_bytes> driver{};
  if (nvml.call("nvmlSystemGetDriverVersion", driver.data(), name_bytes - 1))
    report.driver = driver.data();
  unsigned count = 0;
  nvml.call("nvmlDeviceGetCount_v2", &count);
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device))
      report.gpus.push_back(facts_of(nvml, device));
  }
  if (report.gpus.empty()) report.reason = "the NVIDIA driver shows no GPU to this process";
  nvml.call("nvmlShutdown");
  return report;
}

} // namespace breakeven::doctor
