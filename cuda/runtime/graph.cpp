#include "cuda/runtime/graph.hpp"

#include "cuda/runtime/check.hpp"

namespace breakeven::cuda {

Graph::Graph(cudaStream_t stream, const std::function<void()>& enqueue) {
  check(calls().stream_begin_capture(stream, cudaStreamCaptureModeThreadLocal),
        "recording a graph");
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    if (succeeded(calls().stream_end_capture(stream, &graph)) && graph != nullptr)
      static_cast<void>(succeeded(calls().graph_destroy(graph)));
    throw;
  }
  check(calls().stream_end_capture(stream, &graph), "recording a graph");
  const cudaError_t code = calls().graph_instantiate(&m_executable, graph, 0);
  static_cast<void>(succeeded(calls().graph_destroy(graph)));
  check(code, "preparing a graph");
}

Graph::~Graph() {
  if (m_executable != nullptr)
    static_cast<void>(succeeded(calls().graph_exec_destroy(m_executable)));
}

void Graph::launch(cudaStream_t stream) const {
  check(calls().graph_launch(m_executable, stream), "launching a graph");
}

} // namespace breakeven::cuda
