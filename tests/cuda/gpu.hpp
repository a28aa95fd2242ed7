#pragma once

#include "cuda/runtime/check.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/memory.hpp"
#include "cuda/runtime/stream.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

/// Leaves a [gpu] test on machines without one, saying so.
#define BREAKEVEN_NEEDS_GPU()                                                                      \
  if (const std::string reason = breakeven::cuda::no_device_reason(); !reason.empty()) {           \
    WARN("skipped, needs a GPU: " << reason);                                                      \
    return;                                                                                        \
  }                                                                                                \
  static_cast<void>(breakeven::cuda::open_device("cuda"))

namespace gpu {

inline std::uint16_t to_bf16(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, 4);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}
inline float to_float(std::uint16_t x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x) << 16;
  float value = 0;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// bf16 values that host and device hold alike.
class Array {
public:
  explicit Array(std::size_t count) : m_host(count), m_device(2 * count, "a test") {}
  static Array random(std::size_t count, unsigned seed, float sigma = 1, float center = 0) {
    Array array(count);
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(center, sigma);
    for (std::uint16_t& x : array.m_host)
      x = to_bf16(normal(generator));
    array.upload();
    return array;
  }
  void upload() {
    breakeven::cuda::Stream stream;
    breakeven::cuda::check(
        breakeven::cuda::calls().memcpy_async(m_device.data(), m_host.data(), 2 * m_host.size(),
                                              cudaMemcpyHostToDevice, stream.get()),
        "uploading");
    stream.synchronize();
  }
  void download() {
    breakeven::cuda::Stream stream;
    breakeven::cuda::check(
        breakeven::cuda::calls().memcpy_async(m_host.data(), m_device.data(), 2 * m_host.size(),
                                              cudaMemcpyDeviceToHost, stream.get()),
        "downloading");
    stream.synchronize();
  }
  [[nodiscard]] double operator[](std::size_t i) const {
    return static_cast<double>(to_float(m_host[i]));
  }
  [[nodiscard]] std::size_t size() const { return m_host.size(); }
  [[nodiscard]] std::byte* device() const { return m_device.data(); }

private:
  std::vector<std::uint16_t> m_host;
  breakeven::cuda::DeviceMemory m_device;
};

template <class T>
breakeven::cuda::DeviceMemory upload(const std::vector<T>& values) {
  breakeven::cuda::DeviceMemory memory(values.size() * sizeof(T), "a test");
  breakeven::cuda::Stream stream;
  breakeven::cuda::check(
      breakeven::cuda::calls().memcpy_async(memory.data(), values.data(), memory.size_bytes(),
                                            cudaMemcpyHostToDevice, stream.get()),
      "uploading");
  stream.synchronize();
  return memory;
}

} // namespace gpu
