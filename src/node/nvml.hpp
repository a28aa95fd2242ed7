#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// What NVIDIA's management library says about the GPUs of this machine. The library belongs to
/// the driver and is loaded at run time: nothing of CUDA is needed to build or to start.
namespace breakeven::node {

/// Facts of one GPU that stay while the program runs. Unknown: empty, 0 or nothing.
struct GpuFacts {
  std::string name, uuid; ///< "NVIDIA H200", "GPU-5c89852c-..."
  std::string pci_bus_id; ///< "0000:3b:00.0", as sysfs writes it
  std::uint64_t memory_bytes = 0;
  double power_limit_W = 0; ///< as enforced now
  double max_sm_clock_Hz = 0, max_memory_clock_Hz = 0;
  int max_pcie_generation = 0, max_pcie_width = 0; ///< of GPU and slot together
  std::optional<bool> ecc, mig, persistence;
  std::optional<int> numa_node; ///< of the PCIe slot; nothing when the system tells none
};

/// Why the clocks are below what they could be, in the bits of nvmlClocksEventReasons (nvml.h).
namespace clock_reasons {
inline constexpr std::uint64_t gpu_idle = 0x1, application_clocks = 0x2, power_cap = 0x4,
                               hardware_slowdown = 0x8, sync_boost = 0x10, software_thermal = 0x20,
                               hardware_thermal = 0x40, power_brake = 0x80, display_clock = 0x100;
} // namespace clock_reasons

/// Facts of one GPU at one moment. PCIe links are slowed down while idle: read them under load.
struct GpuState {
  double sm_clock_Hz = 0, memory_clock_Hz = 0;
  double power_W = 0, temperature_C = 0;
  int pcie_generation = 0, pcie_width = 0;
  std::uint64_t reasons = 0; ///< clock_reasons

  /// Too hot or braked by the board: a sample taken now says nothing about the GPU.
  [[nodiscard]] bool throttled() const;
  /// At its power limit: normal under sustained load, so such samples are kept and recorded.
  [[nodiscard]] bool power_capped() const { return (reasons & clock_reasons::power_cap) != 0; }
};

/// "power cap, thermal slowdown by hardware"; "" for none.
std::string describe_clock_reasons(std::uint64_t reasons);

/// One loaded library. Not thread-safe.
class Nvml {
public:
  /// Loads and initialises `library`. Never throws: see unavailable_reason().
  explicit Nvml(const std::string& library = default_library(), std::string sysfs_root = "");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// "libnvidia-ml.so.1"
  static const std::string& default_library();

  /// "" when usable; else why not, as a part of a sentence.
  [[nodiscard]] const std::string& unavailable_reason() const { return m_reason; }
  [[nodiscard]] const std::string& driver_version() const { return m_driver_version; }
  /// The newest CUDA that the driver can run, "13.0"; "" = unknown.
  [[nodiscard]] const std::string& cuda_version() const { return m_cuda_version; }

  /// All GPUs that the driver shows, in NVML's order (that of PCI bus ids, whatever
  /// CUDA_VISIBLE_DEVICES says).
  [[nodiscard]] const std::vector<GpuFacts>& gpus() const { return m_gpus; }
  /// Index in gpus() by PCI bus id, in any of the forms that CUDA, NVML and sysfs use.
  [[nodiscard]] std::optional<std::size_t> find_pci(const std::string& bus_id) const;
  /// Throws error::environment when the GPU is gone.
  [[nodiscard]] GpuState state(std::size_t gpu) const;

private:
  struct Library;
  void open(const std::string& library);
  [[nodiscard]] GpuFacts facts_of(void* device) const;

  std::unique_ptr<Library> m_library;
  std::string m_sysfs_root, m_reason, m_driver_version, m_cuda_version;
  std::vector<GpuFacts> m_gpus;
  std::vector<void*> m_devices;
};

/// "0000:3b:00.0" from "00000000:3B:00.0", "3b:00.0" or itself; "" when it is no PCI address.
std::string normal_pci_bus_id(const std::string& text);

/// NUMA node of a PCI device by sysfs; nothing when the system tells none (one-node machines).
std::optional<int> pci_numa_node(const std::string& bus_id, const std::string& sysfs_root = "");

} // namespace breakeven::node
