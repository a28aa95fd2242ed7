#include "cuda/compute/cuda_compute.hpp"
#include "cuda/runtime/check.hpp"
#include "support/error.hpp"

namespace breakeven::cuda {
namespace {

/// Copies by plain cudaMemcpyAsync on a stream of its own.
class KvBuffer : public compute::DeviceBuffer {
public:
  explicit KvBuffer(std::uint64_t bytes) : m_memory(bytes, "the KV buffer that tiers load into") {}

  [[nodiscard]] std::uint64_t size_bytes() const override { return m_memory.size_bytes(); }

  void copy_in(std::uint64_t offset, const std::byte* source, std::size_t bytes) override {
    copy(m_memory.data() + offset, source, bytes, cudaMemcpyHostToDevice);
  }

  void synchronize() override {
    if (const cudaError_t code = calls().stream_synchronize(m_stream.get()); code != cudaSuccess)
      fail(code);
  }

  void copy_out(std::uint64_t offset, std::byte* destination, std::size_t bytes) override {
    copy(destination, m_memory.data() + offset, bytes, cudaMemcpyDeviceToHost);
    synchronize();
  }

  void pin_host(std::byte* address, std::size_t bytes) override {
    if (RegisteredMemory pinned = RegisteredMemory::try_register(address, bytes); !pinned.empty())
      m_pinned.push_back(std::move(pinned));
  }

  void unpin_host(std::byte* address) noexcept override {
    std::erase_if(m_pinned,
                  [&](const RegisteredMemory& memory) { return memory.address() == address; });
  }

  [[nodiscard]] std::string copy_method() const override {
    return m_pinned.empty() ? "pageable host memory (cudaMemcpyAsync)"
                            : "pinned host memory (cudaMemcpyAsync)";
  }

private:
  void copy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t code = calls().memcpy_async(destination, source, bytes, kind, m_stream.get());
    if (code != cudaSuccess) fail(code);
  }

  [[noreturn]] static void fail(cudaError_t code) {
    if (!is_sticky(code)) static_cast<void>(calls().get_last_error());
    throw error(error_kind::measurement,
                "a copy between host and device failed: " + describe(code));
  }

  DeviceMemory m_memory;
  Stream m_stream;
  std::vector<RegisteredMemory> m_pinned;
};

} // namespace

std::unique_ptr<compute::DeviceBuffer> make_kv_buffer(std::uint64_t bytes) {
  return std::make_unique<KvBuffer>(bytes);
}

} // namespace breakeven::cuda
