#pragma once

#include <cstddef>
#include <cstdint>
#include <cudnn_backend.h>
#include <initializer_list>
#include <string>
#include <vector>

namespace breakeven::cuda {

/// The functions of cuDNN 9 that are called, found in the library at run time.
struct CudnnCalls {
  decltype(&cudnnGetVersion) get_version;
  decltype(&cudnnCreate) create;
  decltype(&cudnnDestroy) destroy;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnGetErrorString) error_string;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&cudnnBackendSetAttribute) set_attribute;
  decltype(&cudnnBackendGetAttribute) get_attribute;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendExecute) execute;
};

/// Null where the library is missing or older than 9.6, the first with all of the masks that are
/// used here; cudnn_missing() then says why.
const CudnnCalls* cudnn();
std::string cudnn_missing();
/// "9.19.0"
std::string cudnn_version();

/// Throws error::environment for any status but success.
void check_cudnn(cudnnStatus_t status, const char* doing);

/// One descriptor of the back-end API.
class CudnnDescriptor {
public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.m_descriptor);
  }
  void finalize(const char* doing);
  [[nodiscard]] cudnnBackendDescriptor_t get() const noexcept { return m_descriptor; }

private:
  cudnnBackendDescriptor_t m_descriptor = nullptr;
};

} // namespace breakeven::cuda
