#if __has_include(<cudnn_backend.h>)
#include "cuda/attention/cudnn_library.hpp"

#include "cuda/runtime/library.hpp"
#include "support/error.hpp"

#include <utility>

namespace breakeven::cuda {
namespace {

constexpr std::size_t oldest_version = 90600;

std::string version_text(std::size_t version) { // 91900 = 9.19.0
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

struct Loaded {
  Library library{"cuDNN", {"libcudnn.so.9"}};
  CudnnCalls calls{};
  std::string reason;

  Loaded() {
    const bool complete = library.get(calls.get_version, "cudnnGetVersion") &&
                          library.get(calls.create, "cudnnCreate") &&
                          library.get(calls.destroy, "cudnnDestroy") &&
                          library.get(calls.set_stream, "cudnnSetStream") &&
                          library.get(calls.error_string, "cudnnGetErrorString") &&
                          library.get(calls.create_descriptor, "cudnnBackendCreateDescriptor") &&
                          library.get(calls.destroy_descriptor, "cudnnBackendDestroyDescriptor") &&
                          library.get(calls.set_attribute, "cudnnBackendSetAttribute") &&
                          library.get(calls.get_attribute, "cudnnBackendGetAttribute") &&
                          library.get(calls.finalize, "cudnnBackendFinalize") &&
                          library.get(calls.execute, "cudnnBackendExecute");
    if (!complete)
      reason = library.missing();
    else if (const std::size_t version = calls.get_version(); version < oldest_version)
      reason = "cuDNN " + version_text(version) + " is older than 9.6";
  }
};

const Loaded& loaded() {
  static const Loaded* instance = new Loaded; // CUDA libraries must not be closed at exit
  return *instance;
}

} // namespace

const CudnnCalls* cudnn() {
  return loaded().reason.empty() ? &loaded().calls : nullptr;
}
std::string cudnn_missing() {
  return loaded().reason;
}
std::string cudnn_version() {
  return cudnn() ? version_text(cudnn()->get_version()) : "";
}

void check_cudnn(cudnnStatus_t status, const char* doing) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw error(error_kind::environment, std::string("cuDNN failed while ") + doing + ": " +
                                           cudnn()->error_string(status) +
                                           "; BREAKEVEN_CUDA_ATTENTION=builtin does without it");
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  check_cudnn(cudnn()->create_descriptor(type, &m_descriptor), "describing attention");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (m_descriptor != nullptr) static_cast<void>(cudnn()->destroy_descriptor(m_descriptor));
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : m_descriptor(std::exchange(other.m_descriptor, nullptr)) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(m_descriptor, other.m_descriptor);
  return *this;
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          std::int64_t count, const void* values) {
  check_cudnn(cudnn()->set_attribute(m_descriptor, name, type, count, values),
              "describing attention");
}

void CudnnDescriptor::finalize(const char* doing) {
  check_cudnn(cudnn()->finalize(m_descriptor), doing);
}

} // namespace breakeven::cuda
#endif
