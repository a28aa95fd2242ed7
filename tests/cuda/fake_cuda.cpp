#include "cuda/fake_cuda.hpp"

#include "cuda/runtime/check.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

FakeCuda* fake = nullptr;

cudaError_t forget(std::vector<const void*>& list, const void* handle) {
  const auto found = std::find(list.begin(), list.end(), handle);
  if (found == list.end()) return cudaErrorInvalidValue;
  list.erase(found);
  return cudaSuccess;
}

} // namespace

/// Stateless functions, as the table wants them; the state is the one FakeCuda alive.
struct FakeTable {
  static cudaError_t driver_get_version(int* version) {
    const cudaError_t code = fake->enter("driver_get_version");
    if (code == cudaSuccess) *version = fake->driver_version;
    return code;
  }
  static cudaError_t get_device_count(int* count) {
    *count = fake->device_count;
    return fake->enter("get_device_count");
  }
  static cudaError_t get_device_properties(cudaDeviceProp* out, int device) {
    *out = fake->properties;
    out->uuid.bytes[15] = static_cast<char>(device);
    return fake->enter("get_device_properties");
  }
  static cudaError_t device_get_attribute(int* value, cudaDeviceAttr which, int) {
    *value = which == cudaDevAttrClockRate              ? 1980000
             : which == cudaDevAttrMemoryClockRate      ? 3201000
             : which == cudaDevAttrGlobalMemoryBusWidth ? 6144
                                                        : 0;
    return fake->enter("device_get_attribute");
  }
  static cudaError_t pci_bus_id(char* id, int length, int device) {
    const std::string text =
        fake->pci_bus_id.empty() ? "0000:0" + std::to_string(device) + ":00.0" : fake->pci_bus_id;
    std::strncpy(id, text.c_str(), static_cast<std::size_t>(length));
    return fake->enter("device_get_pci_bus_id");
  }
  static cudaError_t set_device(int) { return fake->enter("set_device"); }
  static cudaError_t mem_get_info(std::size_t* free_bytes, std::size_t* total) {
    *free_bytes = fake->memory_bytes - fake->m_device_bytes;
    *total = fake->memory_bytes;
    return fake->enter("mem_get_info");
  }
  static cudaError_t device_synchronize() { return fake->enter("device_synchronize"); }
  static cudaError_t get_last_error() { return std::exchange(fake->m_pending, fake->m_sticky); }
  static cudaError_t malloc(void** address, std::size_t bytes) {
    if (const cudaError_t code = fake->enter("malloc"); code != cudaSuccess) return code;
    if (fake->m_device_bytes + bytes > fake->memory_bytes)
      return fake->m_pending = cudaErrorMemoryAllocation;
    if (fake->imaginary_memory) {
      *address = reinterpret_cast<void*>(fake->m_next); // NOLINT: never dereferenced
      fake->m_next += (bytes + 511) / 256 * 256;
    } else {
      *address = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    }
    fake->m_device[static_cast<const std::byte*>(*address)] = bytes;
    fake->m_device_bytes += bytes;
    return cudaSuccess;
  }
  static cudaError_t free(void* address) {
    const cudaError_t code = fake->enter("free");
    const auto found = fake->m_device.find(static_cast<const std::byte*>(address));
    if (found == fake->m_device.end()) return cudaErrorInvalidValue;
    fake->m_device_bytes -= found->second;
    fake->m_device.erase(found);
    if (!fake->imaginary_memory) std::free(address);
    return code;
  }
  static cudaError_t host_alloc(void** address, std::size_t bytes, unsigned) {
    if (const cudaError_t code = fake->enter("host_alloc"); code != cudaSuccess) return code;
    *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    fake->m_host.push_back(*address);
    return cudaSuccess;
  }
  static cudaError_t free_host(void* address) {
    const cudaError_t code = fake->enter("free_host");
    if (forget(fake->m_host, address) != cudaSuccess) return cudaErrorInvalidValue;
    std::free(address);
    return code;
  }
  static cudaError_t host_register(void* address, std::size_t, unsigned) {
    if (const cudaError_t code = fake->enter("host_register"); code != cudaSuccess) return code;
    fake->m_registered.push_back(address);
    return cudaSuccess;
  }
  static cudaError_t host_unregister(void* address) {
    const cudaError_t code = fake->enter("host_unregister");
    return forget(fake->m_registered, address) != cudaSuccess ? cudaErrorInvalidValue : code;
  }
  static cudaError_t host_get_device_pointer(void** device, void* host, unsigned) {
    *device = host;
    return fake->enter("host_get_device_pointer");
  }
  static cudaError_t memcpy_async(void* destination, const void* source, std::size_t bytes,
                                  cudaMemcpyKind, cudaStream_t) {
    const cudaError_t code = fake->enter("memcpy_async");
    if (code == cudaSuccess && !fake->imaginary_memory) std::memcpy(destination, source, bytes);
    return code;
  }
  static cudaError_t memcpy_batch_async(void** destinations, const void** sources,
                                        const std::size_t* bytes, std::size_t count, cudaStream_t) {
    const cudaError_t code = fake->enter("memcpy_batch_async");
    if (code == cudaSuccess && !fake->imaginary_memory)
      for (std::size_t i = 0; i < count; ++i)
        std::memcpy(destinations[i], sources[i], bytes[i]);
    return code;
  }
  static cudaError_t memset_async(void* address, int value, std::size_t bytes, cudaStream_t) {
    const cudaError_t code = fake->enter("memset_async");
    if (code == cudaSuccess && !fake->imaginary_memory) std::memset(address, value, bytes);
    return code;
  }
  static cudaError_t stream_create(cudaStream_t* stream, unsigned) {
    if (const cudaError_t code = fake->enter("stream_create"); code != cudaSuccess) return code;
    *stream = reinterpret_cast<cudaStream_t>(++fake->m_next); // NOLINT: a handle
    fake->m_streams.push_back(*stream);
    return cudaSuccess;
  }
  static cudaError_t stream_destroy(cudaStream_t stream) {
    const cudaError_t code = fake->enter("stream_destroy");
    return forget(fake->m_streams, stream) != cudaSuccess ? cudaErrorInvalidValue : code;
  }
  static cudaError_t stream_synchronize(cudaStream_t) { return fake->enter("stream_synchronize"); }
  static cudaError_t stream_wait_event(cudaStream_t, cudaEvent_t, unsigned) {
    return fake->enter("stream_wait_event");
  }
  static cudaError_t event_create(cudaEvent_t* event, unsigned) {
    if (const cudaError_t code = fake->enter("event_create"); code != cudaSuccess) return code;
    *event = reinterpret_cast<cudaEvent_t>(++fake->m_next); // NOLINT: a handle
    fake->m_events.push_back(*event);
    return cudaSuccess;
  }
  static cudaError_t event_destroy(cudaEvent_t event) {
    const cudaError_t code = fake->enter("event_destroy");
    return forget(fake->m_events, event) != cudaSuccess ? cudaErrorInvalidValue : code;
  }
  static cudaError_t event_record(cudaEvent_t, cudaStream_t) { return fake->enter("event_record"); }
  static cudaError_t event_query(cudaEvent_t) { return fake->enter("event_query"); }
  static cudaError_t event_synchronize(cudaEvent_t) { return fake->enter("event_synchronize"); }
  static cudaError_t event_elapsed_ms(float* milliseconds, cudaEvent_t, cudaEvent_t) {
    *milliseconds = 1;
    return fake->enter("event_elapsed_ms");
  }
  static cudaError_t launch_kernel(const void*, dim3 grid, dim3 block, void**, std::size_t,
                                   cudaStream_t) {
    const cudaError_t code = fake->enter("launch_kernel");
    const bool empty = grid.x * grid.y * grid.z == 0 || grid.y > 65535 || grid.z > 65535;
    if (code == cudaSuccess && (empty || block.x * block.y * block.z > 1024))
      return fake->m_pending = cudaErrorInvalidConfiguration;
    return code;
  }
  static cudaError_t begin_capture(cudaStream_t, cudaStreamCaptureMode) {
    return fake->enter("stream_begin_capture");
  }
  static cudaError_t end_capture(cudaStream_t, cudaGraph_t* graph) {
    if (const cudaError_t code = fake->enter("stream_end_capture"); code != cudaSuccess)
      return code;
    *graph = reinterpret_cast<cudaGraph_t>(++fake->m_next); // NOLINT: a handle
    fake->m_graphs.push_back(*graph);
    return cudaSuccess;
  }
  static cudaError_t graph_instantiate(cudaGraphExec_t* executable, cudaGraph_t,
                                       unsigned long long) {
    if (const cudaError_t code = fake->enter("graph_instantiate"); code != cudaSuccess) return code;
    *executable = reinterpret_cast<cudaGraphExec_t>(++fake->m_next); // NOLINT: a handle
    fake->m_graphs.push_back(*executable);
    return cudaSuccess;
  }
  static cudaError_t graph_launch(cudaGraphExec_t, cudaStream_t) {
    return fake->enter("graph_launch");
  }
  static cudaError_t graph_destroy(cudaGraph_t graph) {
    const cudaError_t code = fake->enter("graph_destroy");
    return forget(fake->m_graphs, graph) != cudaSuccess ? cudaErrorInvalidValue : code;
  }
  static cudaError_t graph_exec_destroy(cudaGraphExec_t executable) {
    const cudaError_t code = fake->enter("graph_exec_destroy");
    return forget(fake->m_graphs, executable) != cudaSuccess ? cudaErrorInvalidValue : code;
  }
  static cudaError_t func_set_attribute(const void*, cudaFuncAttribute, int) {
    return fake->enter("func_set_attribute");
  }

  static const breakeven::cuda::Calls& table() {
    static const breakeven::cuda::Calls calls = [] {
      breakeven::cuda::Calls c{};
      c.driver_get_version = driver_get_version;
      c.get_device_count = get_device_count;
      c.get_device_properties = get_device_properties;
      c.device_get_attribute = device_get_attribute;
      c.device_get_pci_bus_id = pci_bus_id;
      c.set_device = set_device;
      c.mem_get_info = mem_get_info;
      c.device_synchronize = device_synchronize;
      c.get_last_error = get_last_error;
      c.malloc = malloc;
      c.free = free;
      c.host_alloc = host_alloc;
      c.free_host = free_host;
      c.host_register = host_register;
      c.host_unregister = host_unregister;
      c.host_get_device_pointer = host_get_device_pointer;
      c.memcpy_async = memcpy_async;
      c.memcpy_batch_async = memcpy_batch_async;
      c.memset_async = memset_async;
      c.stream_create = stream_create;
      c.stream_destroy = stream_destroy;
      c.stream_synchronize = stream_synchronize;
      c.stream_wait_event = stream_wait_event;
      c.event_create = event_create;
      c.event_destroy = event_destroy;
      c.event_record = event_record;
      c.event_query = event_query;
      c.event_synchronize = event_synchronize;
      c.event_elapsed_ms = event_elapsed_ms;
      c.stream_begin_capture = begin_capture;
      c.stream_end_capture = end_capture;
      c.graph_instantiate = graph_instantiate;
      c.graph_launch = graph_launch;
      c.graph_destroy = graph_destroy;
      c.graph_exec_destroy = graph_exec_destroy;
      c.launch_kernel = launch_kernel;
      c.func_set_attribute = func_set_attribute;
      return c;
    }();
    return calls;
  }
};

FakeCuda::FakeCuda() {
  fake = this;
  std::strncpy(properties.name, "Fake GPU", sizeof(properties.name) - 1);
  properties.major = 9;
  properties.minor = 0;
  properties.multiProcessorCount = 132;
  properties.totalGlobalMem = memory_bytes;
  properties.l2CacheSize = 50 << 20;
  properties.sharedMemPerBlockOptin = 227 << 10;
  m_substitute = std::make_unique<breakeven::cuda::SubstituteCalls>(FakeTable::table());
}

FakeCuda::~FakeCuda() {
  m_substitute.reset();
  if (!imaginary_memory)
    for (const auto& [address, bytes] : m_device)
      std::free(const_cast<std::byte*>(address));
  fake = nullptr;
}

cudaError_t FakeCuda::enter(const char* name) {
  ++m_counts[name];
  ++m_total;
  if (m_sticky != cudaSuccess) return m_sticky;
  for (const std::string& key : {std::string(name), std::string("*")}) {
    const auto found = m_failures.find(key);
    if (found == m_failures.end()) continue;
    Failure& failure = found->second;
    if (failure.at != 0 && ++failure.seen != failure.at) continue;
    m_pending = failure.code;
    if (breakeven::cuda::is_sticky(failure.code)) m_sticky = failure.code;
    return failure.code;
  }
  return cudaSuccess;
}

void FakeCuda::fail(const std::string& name, cudaError_t code, std::int64_t nth) {
  m_failures[name] = {code, nth, 0};
}

void FakeCuda::fail_always(const std::string& name, cudaError_t code) {
  m_failures[name] = {code, 0, 0};
}

std::size_t FakeCuda::alive() const {
  return m_device.size() + m_host.size() + m_registered.size() + m_streams.size() + m_events.size();
}

std::int64_t FakeCuda::count(const std::string& name) const {
  const auto found = m_counts.find(name);
  return found == m_counts.end() ? 0 : found->second;
}

bool FakeCuda::is_device(const void* address, std::uint64_t bytes) const {
  auto next = m_device.upper_bound(static_cast<const std::byte*>(address));
  if (next == m_device.begin()) return false;
  --next;
  return static_cast<const std::byte*>(address) + bytes <= next->first + next->second;
}
