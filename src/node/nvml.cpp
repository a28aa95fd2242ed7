#include "node/nvml.hpp"

#include "node/node_files.hpp"
#include "support/error.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

namespace breakeven::node {
namespace {

// The part of nvml.h (NVIDIA Management Library API reference) that is used here. The library
// keeps these stable: a changed function gets a new name (_v2, _v3).
using Device = void*;
using Result = int;
constexpr Result success = 0, gpu_is_lost = 15;
constexpr int sm_clock = 1, memory_clock = 2;
constexpr int gpu_temperature = 0;

struct MemoryInfo {
  unsigned long long total, free, used;
};
struct PciInfo {
  std::array<char, 16> legacy_bus_id;
  unsigned domain, bus, device, device_id, subsystem_id;
  std::array<char, 32> bus_id;
};

constexpr double mega = 1e6, milli = 1e-3;

template <std::size_t Size>
std::string text_of(const std::array<char, Size>& text) {
  return {text.data(),
          static_cast<std::size_t>(std::find(text.begin(), text.end(), '\0') - text.begin())};
}

} // namespace

/// Functions of the library. Those that old drivers lack are null; their facts stay unknown.
struct Nvml::Library {
  void* handle = nullptr;
  bool initialised = false;

  Result (*init)() = nullptr;
  Result (*shutdown)() = nullptr;
  const char* (*error_string)(Result) = nullptr;
  Result (*driver_version)(char*, unsigned) = nullptr;
  Result (*cuda_version)(int*) = nullptr;
  Result (*count)(unsigned*) = nullptr;
  Result (*by_index)(unsigned, Device*) = nullptr;
  Result (*name)(Device, char*, unsigned) = nullptr;
  Result (*uuid)(Device, char*, unsigned) = nullptr;
  Result (*pci)(Device, PciInfo*) = nullptr;
  Result (*memory)(Device, MemoryInfo*) = nullptr;
  Result (*clock)(Device, int, unsigned*) = nullptr;
  Result (*max_clock)(Device, int, unsigned*) = nullptr;
  Result (*power)(Device, unsigned*) = nullptr;
  Result (*power_limit)(Device, unsigned*) = nullptr;
  Result (*temperature)(Device, int, unsigned*) = nullptr;
  Result (*reasons)(Device, unsigned long long*) = nullptr;
  Result (*pcie_generation)(Device, unsigned*) = nullptr;
  Result (*pcie_width)(Device, unsigned*) = nullptr;
  Result (*max_pcie_generation)(Device, unsigned*) = nullptr;
  Result (*max_pcie_width)(Device, unsigned*) = nullptr;
  Result (*ecc)(Device, int*, int*) = nullptr;
  Result (*mig)(Device, unsigned*, unsigned*) = nullptr;
  Result (*persistence)(Device, int*) = nullptr;

  template <class Function>
  bool find(Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(dlsym(handle, symbol));
    return function != nullptr;
  }

  /// "" or the name of a function without which nothing works.
  std::string find_all() {
    for (const auto& [found, symbol] :
         {std::pair{find(init, "nvmlInit_v2"), "nvmlInit_v2"},
          {find(shutdown, "nvmlShutdown"), "nvmlShutdown"},
          {find(count, "nvmlDeviceGetCount_v2"), "nvmlDeviceGetCount_v2"},
          {find(by_index, "nvmlDeviceGetHandleByIndex_v2"), "nvmlDeviceGetHandleByIndex_v2"}})
      if (!found) return symbol;
    find(error_string, "nvmlErrorString");
    find(driver_version, "nvmlSystemGetDriverVersion");
    find(cuda_version, "nvmlSystemGetCudaDriverVersion_v2");
    find(name, "nvmlDeviceGetName");
    find(uuid, "nvmlDeviceGetUUID");
    find(pci, "nvmlDeviceGetPciInfo_v3");
    find(memory, "nvmlDeviceGetMemoryInfo");
    find(clock, "nvmlDeviceGetClockInfo");
    find(max_clock, "nvmlDeviceGetMaxClockInfo");
    find(power, "nvmlDeviceGetPowerUsage");
    find(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    find(temperature, "nvmlDeviceGetTemperature");
    if (!find(reasons, "nvmlDeviceGetCurrentClocksEventReasons"))
      find(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons"); // its name before driver 535
    find(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
    find(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
    find(max_pcie_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
    find(max_pcie_width, "nvmlDeviceGetMaxPcieLinkWidth");
    find(ecc, "nvmlDeviceGetEccMode");
    find(mig, "nvmlDeviceGetMigMode");
    find(persistence, "nvmlDeviceGetPersistenceMode");
    return "";
  }

  [[nodiscard]] std::string describe(Result result) const {
    const char* text = error_string != nullptr ? error_string(result) : nullptr;
    return text != nullptr ? text : "error " + std::to_string(result);
  }

  [[nodiscard]] std::string text(Result (*function)(Device, char*, unsigned), Device device) const {
    std::array<char, 96> value{};
    if (function == nullptr ||
        function(device, value.data(), static_cast<unsigned>(value.size())) != success)
      return "";
    return text_of(value);
  }

  /// 0 when the GPU does not tell.
  unsigned number(Result (*function)(Device, unsigned*), Device device) const {
    unsigned value = 0;
    return function != nullptr && function(device, &value) == success ? value : 0;
  }
  unsigned number(Result (*function)(Device, int, unsigned*), Device device, int which) const {
    unsigned value = 0;
    return function != nullptr && function(device, which, &value) == success ? value : 0;
  }

  ~Library() {
    if (initialised) shutdown();
    if (handle != nullptr) dlclose(handle);
  }
};

const std::string& Nvml::default_library() {
  static const std::string name = "libnvidia-ml.so.1";
  return name;
}

Nvml::Nvml(const std::string& library, std::string sysfs_root)
    : m_library(std::make_unique<Library>()), m_sysfs_root(std::move(sysfs_root)) {
  open(library);
}

Nvml::~Nvml() = default;

void Nvml::open(const std::string& library) {
  Library& nvml = *m_library;
  nvml.handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (nvml.handle == nullptr) {
    m_reason = "no driver (" + library + " not found)";
    return;
  }
  if (const std::string missing = nvml.find_all(); !missing.empty()) {
    m_reason = library + " has no " + missing + ": the driver is too old";
    return;
  }
  if (const Result result = nvml.init(); result != success) {
    m_reason = "NVML does not start: " + nvml.describe(result);
    return;
  }
  nvml.initialised = true;
  std::array<char, 96> version{};
  if (nvml.driver_version != nullptr &&
      nvml.driver_version(version.data(), static_cast<unsigned>(version.size())) == success)
    m_driver_version = text_of(version);
  int cuda = 0;
  if (nvml.cuda_version != nullptr && nvml.cuda_version(&cuda) == success && cuda > 0)
    m_cuda_version = std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
  unsigned count = 0;
  if (const Result result = nvml.count(&count); result != success) {
    m_reason = "NVML cannot count the GPUs: " + nvml.describe(result);
    return;
  }
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (nvml.by_index(i, &device) != success) continue; // one that this user may not see
    m_devices.push_back(device);
    m_gpus.push_back(facts_of(device));
  }
  if (m_gpus.empty()) m_reason = "the driver shows no GPU";
}

GpuFacts Nvml::facts_of(void* device) const {
  const Library& nvml = *m_library;
  GpuFacts facts;
  facts.name = nvml.text(nvml.name, device);
  facts.uuid = nvml.text(nvml.uuid, device);
  if (PciInfo pci{}; nvml.pci != nullptr && nvml.pci(device, &pci) == success)
    facts.pci_bus_id = normal_pci_bus_id(text_of(pci.bus_id));
  if (MemoryInfo memory{}; nvml.memory != nullptr && nvml.memory(device, &memory) == success)
    facts.memory_bytes = memory.total;
  facts.power_limit_W = milli * nvml.number(nvml.power_limit, device);
  facts.max_sm_clock_Hz = mega * nvml.number(nvml.max_clock, device, sm_clock);
  facts.max_memory_clock_Hz = mega * nvml.number(nvml.max_clock, device, memory_clock);
  facts.max_pcie_generation = static_cast<int>(nvml.number(nvml.max_pcie_generation, device));
  facts.max_pcie_width = static_cast<int>(nvml.number(nvml.max_pcie_width, device));
  if (int now = 0, later = 0; nvml.ecc != nullptr && nvml.ecc(device, &now, &later) == success)
    facts.ecc = now != 0;
  if (unsigned now = 0, later = 0; nvml.mig != nullptr && nvml.mig(device, &now, &later) == success)
    facts.mig = now != 0;
  if (int on = 0; nvml.persistence != nullptr && nvml.persistence(device, &on) == success)
    facts.persistence = on != 0;
  facts.numa_node = pci_numa_node(facts.pci_bus_id, m_sysfs_root);
  return facts;
}

GpuState Nvml::state(std::size_t gpu) const {
  if (gpu >= m_devices.size())
    throw error(error_kind::environment, "NVML shows no GPU " + std::to_string(gpu) + " here");
  const Library& nvml = *m_library;
  void* device = m_devices[gpu];
  GpuState state;
  if (unsigned clock = 0; nvml.clock != nullptr) {
    const Result result = nvml.clock(device, sm_clock, &clock);
    if (result == gpu_is_lost)
      throw error(error_kind::environment, "the GPU '" + m_gpus[gpu].name + "' at " +
                                               m_gpus[gpu].pci_bus_id +
                                               " fell off the bus: " + nvml.describe(result));
    if (result == success) state.sm_clock_Hz = mega * clock;
  }
  state.memory_clock_Hz = mega * nvml.number(nvml.clock, device, memory_clock);
  state.power_W = milli * nvml.number(nvml.power, device);
  state.temperature_C = nvml.number(nvml.temperature, device, gpu_temperature);
  state.pcie_generation = static_cast<int>(nvml.number(nvml.pcie_generation, device));
  state.pcie_width = static_cast<int>(nvml.number(nvml.pcie_width, device));
  unsigned long long reasons = 0;
  if (nvml.reasons != nullptr && nvml.reasons(device, &reasons) == success) state.reasons = reasons;
  return state;
}

std::optional<std::size_t> Nvml::find_pci(const std::string& bus_id) const {
  const std::string wanted = normal_pci_bus_id(bus_id);
  for (std::size_t i = 0; !wanted.empty() && i < m_gpus.size(); ++i)
    if (m_gpus[i].pci_bus_id == wanted) return i;
  return std::nullopt;
}

bool GpuState::throttled() const {
  return (reasons & (clock_reasons::hardware_slowdown | clock_reasons::software_thermal |
                     clock_reasons::hardware_thermal | clock_reasons::power_brake)) != 0;
}

std::string describe_clock_reasons(std::uint64_t reasons) {
  using namespace clock_reasons;
  static constexpr std::pair<std::uint64_t, const char*> names[] = {
      {gpu_idle, "idle"},
      {application_clocks, "application clocks are set"},
      {power_cap, "power cap"},
      {hardware_slowdown, "slowdown by hardware"},
      {sync_boost, "sync boost"},
      {software_thermal, "thermal slowdown by the driver"},
      {hardware_thermal, "thermal slowdown by hardware"},
      {power_brake, "external power brake"},
      {display_clock, "display clock"}};
  std::string text;
  for (const auto& [bit, name] : names)
    if ((reasons & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::string normal_pci_bus_id(const std::string& text) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  int used = 0;
  const auto whole = [&] { return used > 0 && static_cast<std::size_t>(used) == text.size(); };
  if (std::sscanf(text.c_str(), "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) !=
          4 ||
      !whole()) {
    domain = 0;
    used = 0;
    if (std::sscanf(text.c_str(), "%2x:%2x.%1x%n", &bus, &device, &function, &used) != 3 ||
        !whole())
      return "";
  }
  std::array<char, 32> normal{};
  std::snprintf(normal.data(), normal.size(), "%04x:%02x:%02x.%x", domain, bus, device, function);
  return text_of(normal);
}

std::optional<int> pci_numa_node(const std::string& bus_id, const std::string& sysfs_root) {
  const std::string normal = normal_pci_bus_id(bus_id);
  if (normal.empty()) return std::nullopt;
  // "-1" stands for "not known" and is no number here.
  const auto node = Files(sysfs_root).number("/sys/bus/pci/devices/" + normal + "/numa_node");
  if (!node || *node > 1u << 20) return std::nullopt;
  return static_cast<int>(*node);
}

} // namespace breakeven::node
