#pragma once

#include <driver_types.h>

#include <functional>
#include <utility>

namespace breakeven::cuda {

/// Work recorded once and launched as a whole: the host's share of a launch is paid once.
class Graph {
public:
  Graph() = default;
  /// Records what `enqueue` puts on `stream`, which must not wait for the device or allocate.
  /// Throws error::environment; what `enqueue` throws passes through with the capture ended.
  Graph(cudaStream_t stream, const std::function<void()>& enqueue);
  ~Graph();
  Graph(Graph&& other) noexcept : m_executable(std::exchange(other.m_executable, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(m_executable, other.m_executable);
    return *this;
  }
  void launch(cudaStream_t stream) const;

private:
  cudaGraphExec_t m_executable = nullptr;
};

} // namespace breakeven::cuda
