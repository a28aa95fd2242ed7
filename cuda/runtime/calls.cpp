#include "cuda/runtime/calls.hpp"

#include <atomic>

namespace breakeven::cuda {
namespace {

#if CUDART_VERSION >= 12080
cudaError_t copy_batch(void** destinations, const void** sources, const std::size_t* bytes,
                       std::size_t count, cudaStream_t stream) {
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;
  std::size_t first = 0; // one set of attributes, from the first copy on
#if CUDART_VERSION >= 13000
  return cudaMemcpyBatchAsync(destinations, sources, bytes, count, &attributes, &first, 1, stream);
#else
  std::size_t failed = 0;
  return cudaMemcpyBatchAsync(destinations, const_cast<void**>(sources),
                              const_cast<std::size_t*>(bytes), count, &attributes, &first, 1,
                              &failed, stream);
#endif
}
#endif

Calls make_real_calls() {
  Calls c{};
  c.driver_get_version = cudaDriverGetVersion;
  c.get_device_count = cudaGetDeviceCount;
  c.get_device_properties = [](cudaDeviceProp* properties, int device) {
    return cudaGetDeviceProperties(properties, device);
  };
  c.device_get_attribute = cudaDeviceGetAttribute;
  c.device_get_pci_bus_id = cudaDeviceGetPCIBusId;
  c.set_device = cudaSetDevice;
  c.mem_get_info = cudaMemGetInfo;
  c.device_synchronize = cudaDeviceSynchronize;
  c.get_last_error = cudaGetLastError;
  c.malloc = cudaMalloc;
  c.free = cudaFree;
  c.host_alloc = cudaHostAlloc;
  c.free_host = cudaFreeHost;
  c.host_register = cudaHostRegister;
  c.host_unregister = cudaHostUnregister;
  c.host_get_device_pointer = cudaHostGetDevicePointer;
  c.memcpy_async = cudaMemcpyAsync;
#if CUDART_VERSION >= 12080
  c.memcpy_batch_async = copy_batch;
#endif
  c.memset_async = cudaMemsetAsync;
  c.stream_create = cudaStreamCreateWithFlags;
  c.stream_destroy = cudaStreamDestroy;
  c.stream_synchronize = cudaStreamSynchronize;
  c.stream_wait_event = cudaStreamWaitEvent;
  c.event_create = cudaEventCreateWithFlags;
  c.event_destroy = cudaEventDestroy;
  c.event_record = cudaEventRecord;
  c.event_query = cudaEventQuery;
  c.event_synchronize = cudaEventSynchronize;
  c.event_elapsed_ms = cudaEventElapsedTime;
  c.stream_begin_capture = cudaStreamBeginCapture;
  c.stream_end_capture = cudaStreamEndCapture;
  c.graph_instantiate = [](cudaGraphExec_t* executable, cudaGraph_t graph,
                           unsigned long long flags) {
    return cudaGraphInstantiate(executable, graph, flags);
  };
  c.graph_launch = cudaGraphLaunch;
  c.graph_destroy = cudaGraphDestroy;
  c.graph_exec_destroy = cudaGraphExecDestroy;
  c.launch_kernel = cudaLaunchKernel;
  c.func_set_attribute = cudaFuncSetAttribute;
  return c;
}

std::atomic<const Calls*> in_force{nullptr};

} // namespace

const Calls& real_calls() noexcept {
  static const Calls table = make_real_calls();
  return table;
}

const Calls& calls() noexcept {
  const Calls* table = in_force.load(std::memory_order_relaxed);
  return table != nullptr ? *table : real_calls();
}

SubstituteCalls::SubstituteCalls(const Calls& table) noexcept : m_before(in_force.load()) {
  in_force.store(&table);
}

SubstituteCalls::~SubstituteCalls() {
  in_force.store(m_before);
}

} // namespace breakeven::cuda
