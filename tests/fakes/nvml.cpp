// A stand-in for libnvidia-ml.so.1: two GPUs, one of which tells less than the other. The
// environment variable BREAKEVEN_FAKE_NVML chooses what goes wrong.

#include <cstdlib>
#include <cstring>

namespace {

constexpr int success = 0, not_supported = 3, driver_not_loaded = 9, gpu_is_lost = 15;

bool fault(const char* name) {
  const char* wanted = std::getenv("BREAKEVEN_FAKE_NVML");
  return wanted != nullptr && std::strcmp(wanted, name) == 0;
}

int put(char* to, unsigned bytes, const char* text) {
  if (std::strlen(text) >= bytes) return 7; // NVML_ERROR_INSUFFICIENT_SIZE
  std::strcpy(to, text);
  return success;
}

struct Gpu {
  const char* name;
  const char* bus_id;
} gpus[] = {{"Fake H200", "00000000:3B:00.0"}, {"Fake L4", "00000001:AF:00.0"}};

bool is_full(void* device) {
  return device == &gpus[0];
}
int starts = 0;

} // namespace

extern "C" {

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
struct MemoryInfo {
  unsigned long long total, free, used;
};

int nvmlInit_v2() {
  if (fault("no driver")) return driver_not_loaded;
  ++starts;
  return success;
}
int nvmlShutdown() {
  --starts;
  return success;
}
int fake_nvml_starts() {
  return starts;
}
const char* nvmlErrorString(int result) {
  return result == driver_not_loaded ? "Driver Not Loaded" : "GPU is lost";
}
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  return put(text, bytes, "580.65.06");
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return success;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = fault("no gpu") ? 0 : 2;
  return success;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &gpus[index];
  return success;
}
int nvmlDeviceGetName(void* device, char* text, unsigned bytes) {
  return put(text, bytes, static_cast<Gpu*>(device)->name);
}
int nvmlDeviceGetUUID(void*, char* text, unsigned bytes) {
  return put(text, bytes, "GPU-5c89852c-1111-2222-3333-444455556666");
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* pci) {
  return put(pci->bus_id, sizeof pci->bus_id, static_cast<Gpu*>(device)->bus_id);
}
int nvmlDeviceGetMemoryInfo(void*, MemoryInfo* memory) {
  *memory = {150754820096ULL, 150000000000ULL, 754820096ULL};
  return success;
}
int nvmlDeviceGetClockInfo(void*, int kind, unsigned* mhz) {
  if (fault("lost")) return gpu_is_lost;
  *mhz = kind == 2 ? 3201 : 1830;
  return success;
}
int nvmlDeviceGetMaxClockInfo(void*, int kind, unsigned* mhz) {
  *mhz = kind == 2 ? 3201 : 1980;
  return success;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* mw) {
  *mw = 698500;
  return success;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* mw) {
  *mw = 700000;
  return success;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 61;
  return success;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = fault("hot") ? 0x44 : 0x4;
  return success;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* value) {
  *value = 4;
  return success;
}
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* value) {
  *value = 8;
  return success;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) {
  *value = 5;
  return success;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* value) {
  *value = 16;
  return success;
}
int nvmlDeviceGetEccMode(void* device, int* now, int* later) {
  if (!is_full(device)) return not_supported;
  *now = *later = 1;
  return success;
}
int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* later) {
  if (!is_full(device)) return not_supported;
  *now = *later = 0;
  return success;
}
int nvmlDeviceGetPersistenceMode(void*, int* on) {
  *on = 1;
  return success;
}
}
