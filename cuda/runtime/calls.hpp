#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace breakeven::cuda {

/// The CUDA runtime calls that this program makes, as a table, so that tests can put one in their
/// place that refuses the nth call. Signatures are those of the CUDA runtime, apart from
/// memcpy_batch_async.
struct Calls {
  // device
  cudaError_t (*driver_get_version)(int* version);
  cudaError_t (*get_device_count)(int* count);
  cudaError_t (*get_device_properties)(cudaDeviceProp* properties, int device);
  cudaError_t (*device_get_attribute)(int* value, cudaDeviceAttr attribute, int device);
  cudaError_t (*device_get_pci_bus_id)(char* id, int length, int device);
  cudaError_t (*set_device)(int device);
  cudaError_t (*mem_get_info)(std::size_t* free_bytes, std::size_t* total_bytes);
  cudaError_t (*device_synchronize)();
  cudaError_t (*get_last_error)(); ///< clears a non-sticky error

  // memory
  cudaError_t (*malloc)(void** address, std::size_t bytes);
  cudaError_t (*free)(void* address);
  cudaError_t (*host_alloc)(void** address, std::size_t bytes, unsigned flags);
  cudaError_t (*free_host)(void* address);
  cudaError_t (*host_register)(void* address, std::size_t bytes, unsigned flags);
  cudaError_t (*host_unregister)(void* address);
  cudaError_t (*host_get_device_pointer)(void** device, void* host, unsigned flags);
  cudaError_t (*memcpy_async)(void* destination, const void* source, std::size_t bytes,
                              cudaMemcpyKind kind, cudaStream_t stream);
  /// Copies `count` runs in any order, in stream order as a whole, overlapping with computation
  /// where the device can. Null where the toolkit is older than 12.8; cudaErrorNotSupported where
  /// the driver is. Not for the legacy default stream.
  cudaError_t (*memcpy_batch_async)(void** destinations, const void** sources,
                                    const std::size_t* bytes, std::size_t count,
                                    cudaStream_t stream);
  cudaError_t (*memset_async)(void* address, int value, std::size_t bytes, cudaStream_t stream);

  // streams and events
  cudaError_t (*stream_create)(cudaStream_t* stream, unsigned flags);
  cudaError_t (*stream_destroy)(cudaStream_t stream);
  cudaError_t (*stream_synchronize)(cudaStream_t stream);
  cudaError_t (*stream_wait_event)(cudaStream_t stream, cudaEvent_t event, unsigned flags);
  cudaError_t (*event_create)(cudaEvent_t* event, unsigned flags);
  cudaError_t (*event_destroy)(cudaEvent_t event);
  cudaError_t (*event_record)(cudaEvent_t event, cudaStream_t stream);
  cudaError_t (*event_query)(cudaEvent_t event);
  cudaError_t (*event_synchronize)(cudaEvent_t event);
  cudaError_t (*event_elapsed_ms)(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

  // graphs
  cudaError_t (*stream_begin_capture)(cudaStream_t stream, cudaStreamCaptureMode mode);
  cudaError_t (*stream_end_capture)(cudaStream_t stream, cudaGraph_t* graph);
  cudaError_t (*graph_instantiate)(cudaGraphExec_t* executable, cudaGraph_t graph,
                                   unsigned long long flags);
  cudaError_t (*graph_launch)(cudaGraphExec_t executable, cudaStream_t stream);
  cudaError_t (*graph_destroy)(cudaGraph_t graph);
  cudaError_t (*graph_exec_destroy)(cudaGraphExec_t executable);

  // kernels; see launch.hpp
  cudaError_t (*launch_kernel)(const void* kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream);
  cudaError_t (*func_set_attribute)(const void* kernel, cudaFuncAttribute attribute, int value);
};

/// The table in force: the statically linked CUDA runtime, or a test's.
[[nodiscard]] const Calls& calls() noexcept;

/// The statically linked CUDA runtime, whatever is in force.
[[nodiscard]] const Calls& real_calls() noexcept;

/// For tests: puts a table in force for the life of this object. The table must outlive it.
class SubstituteCalls {
public:
  explicit SubstituteCalls(const Calls& table) noexcept;
  ~SubstituteCalls();
  SubstituteCalls(const SubstituteCalls&) = delete;
  SubstituteCalls& operator=(const SubstituteCalls&) = delete;

private:
  const Calls* m_before;
};

} // namespace breakeven::cuda
