#include "cuda/runtime/memory.hpp"

#include "cuda/runtime/check.hpp"
#include "support/units.hpp"

namespace breakeven::cuda {

DeviceMemory::DeviceMemory(std::uint64_t bytes, const std::string& purpose) : m_bytes(bytes) {
  if (bytes == 0) return;
  if (const cudaError_t code = calls().malloc(&m_address, bytes); code != cudaSuccess)
    check(code, "allocating " + format_bytes(static_cast<double>(bytes)) +
                    " of device memory for " + purpose);
}

DeviceMemory::~DeviceMemory() {
  if (m_address != nullptr) static_cast<void>(succeeded(calls().free(m_address)));
}

PinnedMemory::PinnedMemory(std::uint64_t bytes) : m_bytes(bytes) {
  if (const cudaError_t code = calls().host_alloc(&m_address, bytes, cudaHostAllocDefault);
      code != cudaSuccess)
    check(code,
          "allocating " + format_bytes(static_cast<double>(bytes)) + " of pinned host memory");
}

PinnedMemory PinnedMemory::try_allocate(std::uint64_t bytes) noexcept {
  PinnedMemory memory;
  if (succeeded(calls().host_alloc(&memory.m_address, bytes, cudaHostAllocDefault)))
    memory.m_bytes = bytes;
  else
    memory.m_address = nullptr;
  return memory;
}

PinnedMemory::~PinnedMemory() {
  if (m_address != nullptr) static_cast<void>(succeeded(calls().free_host(m_address)));
}

RegisteredMemory::RegisteredMemory(void* address, std::uint64_t bytes) {
  if (const cudaError_t code = calls().host_register(address, bytes, cudaHostRegisterDefault);
      code != cudaSuccess)
    check(code, "pinning " + format_bytes(static_cast<double>(bytes)) + " of host memory");
  m_address = address;
  m_bytes = bytes;
}

RegisteredMemory RegisteredMemory::try_register(void* address, std::uint64_t bytes) noexcept {
  RegisteredMemory memory;
  if (succeeded(calls().host_register(address, bytes, cudaHostRegisterDefault))) {
    memory.m_address = address;
    memory.m_bytes = bytes;
  }
  return memory;
}

RegisteredMemory::~RegisteredMemory() {
  if (m_address != nullptr) static_cast<void>(succeeded(calls().host_unregister(m_address)));
}

} // namespace breakeven::cuda
