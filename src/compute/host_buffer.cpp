#include "compute/cpu_compute.hpp"
#include "support/error.hpp"

#include <algorithm>
#include <cstring>

namespace breakeven::compute {
namespace {

constexpr std::size_t parallel_bytes = std::size_t{1} << 20;

/// The CPU's KV buffer: plain memory. Large copies are split over the compute threads, as torch's
/// copy_ does.
class HostBuffer : public DeviceBuffer {
public:
  HostBuffer(const Kernels& kernels, std::uint64_t bytes, int threads)
      : m_memory(bytes), m_threads(threads) {
    const std::int64_t element_bytes = bytes_of(kernels.element);
    fill_random(kernels, m_memory.data(), static_cast<std::int64_t>(bytes) / element_bytes, 4711,
                1.0F, threads);
  }

  [[nodiscard]] std::uint64_t size_bytes() const override { return m_memory.size_bytes(); }
  [[nodiscard]] std::byte* host_address() noexcept override { return m_memory.data(); }

  void copy_in(std::uint64_t offset, const std::byte* source, std::size_t bytes) override {
    check(offset, bytes);
    copy(m_memory.data() + offset, source, bytes);
  }

  void synchronize() override {} // copies are done when copy_in returns

  void copy_out(std::uint64_t offset, std::byte* destination, std::size_t bytes) override {
    check(offset, bytes);
    copy(destination, m_memory.data() + offset, bytes);
  }

  [[nodiscard]] std::string copy_method() const override {
    return "host memory (memcpy, " + std::to_string(m_threads) +
           (m_threads == 1 ? " thread)" : " threads from 1 MiB on)");
  }

private:
  void check(std::uint64_t offset, std::size_t bytes) const {
    if (offset > m_memory.size_bytes() || bytes > m_memory.size_bytes() - offset)
      throw error(error_kind::measurement, "a copy of " + std::to_string(bytes) + " bytes at " +
                                               std::to_string(offset) +
                                               " would leave the KV buffer of " +
                                               std::to_string(m_memory.size_bytes()) + " bytes");
  }

  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
    if (bytes < parallel_bytes || m_threads == 1) {
      std::memcpy(to, from, bytes);
      return;
    }
    const auto parts = static_cast<std::size_t>(m_threads);
    const std::size_t part = (bytes / parts + 4095) / 4096 * 4096;
#pragma omp parallel for schedule(static) num_threads(m_threads)
    for (std::size_t i = 0; i < parts; ++i) {
      const std::size_t begin = std::min(i * part, bytes), end = std::min(begin + part, bytes);
      std::memcpy(to + begin, from + begin, end - begin);
    }
  }

  Buffer m_memory;
  int m_threads;
};

} // namespace

std::unique_ptr<DeviceBuffer> make_host_buffer(const Kernels& kernels, std::uint64_t bytes,
                                               int threads) {
  return std::make_unique<HostBuffer>(kernels, bytes, threads);
}

} // namespace breakeven::compute
