#include "cuda/runtime/device.hpp"

#include "cuda/runtime/check.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace breakeven::cuda {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string uuid_text(const cudaDeviceProp& properties) {
  std::string text;
  for (std::size_t i = 0; i < sizeof(properties.uuid.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> hex{};
    static_cast<void>(std::snprintf(hex.data(), hex.size(), "%02x",
                                    static_cast<unsigned char>(properties.uuid.bytes[i])));
    text += hex.data();
  }
  const bool mig = std::string(properties.name).find(" MIG ") != std::string::npos;
  return (mig ? "MIG-" : "GPU-") + text;
}

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  return succeeded(calls().device_get_attribute(&value, which, ordinal)) ? value : 0;
}

CudaDevice read_device(int ordinal) {
  cudaDeviceProp properties{};
  check(calls().get_device_properties(&properties, ordinal), "reading the properties of a GPU");
  CudaDevice device;
  device.ordinal = ordinal;
  device.id = "cuda:" + std::to_string(ordinal);
  device.name = properties.name;
  device.uuid = uuid_text(properties);
  std::array<char, 32> bus{};
  if (succeeded(calls().device_get_pci_bus_id(bus.data(), bus.size(), ordinal)))
    device.pci_bus_id = bus.data();
  device.major = properties.major;
  device.minor = properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.clock_khz = attribute(cudaDevAttrClockRate, ordinal);
  device.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, ordinal);
  device.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal);
  device.memory_bytes = properties.totalGlobalMem;
  device.l2_bytes = static_cast<std::uint64_t>(properties.l2CacheSize);
  device.shared_bytes_per_block = properties.sharedMemPerBlockOptin;
  device.integrated = properties.integrated != 0;
  return device;
}

std::string visibility() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "" : " (CUDA_VISIBLE_DEVICES=" + printable(visible) + ")";
}

std::string count_reason(cudaError_t code, int count) {
  if (code == cudaSuccess) return count > 0 ? "" : "no GPU is visible to CUDA" + visibility();
  if (code == cudaErrorNoDevice) return "no GPU is visible to CUDA" + visibility();
  int driver = 0;
  if (!succeeded(calls().driver_get_version(&driver)) || driver == 0) return "no driver";
  if (code == cudaErrorInsufficientDriver)
    return "the driver supports CUDA " + version_text(driver) + " but this build needs " +
           version_text(CUDART_VERSION) + ": update the driver";
  return "CUDA does not start: " + describe(code);
}

} // namespace

std::string no_device_reason() {
  int count = 0;
  const cudaError_t code = calls().get_device_count(&count);
  if (code != cudaSuccess) static_cast<void>(calls().get_last_error());
  if (std::string reason = count_reason(code, count); !reason.empty()) return reason;
  std::string too_old;
  for (int i = 0; i < count; ++i) {
    const CudaDevice device = read_device(i);
    if (device.sm() >= oldest_sm) return "";
    too_old = device.name + " has compute capability " + std::to_string(device.major) + "." +
              std::to_string(device.minor);
  }
  return too_old + ", but bf16 tensor cores need 8.0 or newer";
}

std::vector<CudaDevice> visible_devices() {
  std::vector<CudaDevice> devices;
  int count = 0;
  if (!succeeded(calls().get_device_count(&count))) return devices;
  for (int i = 0; i < count; ++i)
    if (CudaDevice device = read_device(i); device.sm() >= oldest_sm)
      devices.push_back(std::move(device));
  return devices;
}

CudaDevice find_device(const std::string& name) {
  if (const std::string reason = no_device_reason(); !reason.empty())
    throw error(error_kind::environment,
                "device '" + printable(name) + "' cannot be used: " + reason);
  const std::size_t colon = name.find(':');
  const std::string wanted = colon == std::string::npos ? "" : name.substr(colon + 1);
  const std::vector<CudaDevice> devices = visible_devices();
  if (wanted.empty()) return devices.front();
  std::vector<CudaDevice> matches;
  const bool by_uuid = wanted.starts_with("GPU-") || wanted.starts_with("MIG-");
  for (const CudaDevice& device : devices)
    if (by_uuid ? device.uuid.starts_with(wanted) : std::to_string(device.ordinal) == wanted)
      matches.push_back(device);
  if (matches.size() == 1) return matches.front();
  std::string message = matches.empty() ? "there is no device '" : "several devices match '";
  message += printable(name) + "'" + visibility() + "; known:";
  for (const CudaDevice& device : devices)
    message += " " + device.id + " (" + device.name + ", " + device.uuid + ")";
  throw error(error_kind::usage, message);
}

CudaDevice open_device(const std::string& name) {
  CudaDevice device = find_device(name);
  check(calls().set_device(device.ordinal), "opening " + device.id);
  return device;
}

} // namespace breakeven::cuda
