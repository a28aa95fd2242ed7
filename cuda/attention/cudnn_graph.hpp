#pragma once

#include "cuda/attention/cudnn_library.hpp"
#include "cuda/attention/flash_attention.hpp"

#include <array>
#include <deque>
#include <vector>

namespace breakeven::cuda {

/// Attention as the graph of operations that cuDNN recognises (documentation of the cuDNN graph
/// API, "fused attention forward"): scores = q k^T, times scale, masked, softmax, times v. Layout
/// of every tensor: [1][heads][rows][columns].
class CudnnGraph {
public:
  enum Id : std::int64_t { q = 1, k, v, out, scale, negative, keys, queries, window, first_free };

  explicit CudnnGraph(const AttentionCall& call);
  /// Of all operations, in order; they live as long as this object.
  [[nodiscard]] std::vector<cudnnBackendDescriptor_t> operations() const;
  /// Tensors whose addresses execution needs; those of scalars are of host memory.
  [[nodiscard]] const std::vector<std::int64_t>& ids() const { return m_ids; }

private:
  using Dims = std::array<std::int64_t, 4>;
  using Tensor = const CudnnDescriptor*;
  Tensor tensor(std::int64_t id, cudnnDataType_t type, const Dims& dims, const Dims& strides,
                bool made_here, bool scalar);
  Tensor input(Id id, const Dims& dims, const Dims& strides);
  Tensor scalar(Id id, cudnnDataType_t type);
  Tensor between(cudnnDataType_t type, std::int64_t columns);
  void matmul(Tensor a, Tensor b, Tensor c);
  Tensor pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor b, cudnnDataType_t type,
                   cudnnDataType_t precision, Tensor out = nullptr, Tensor selector = nullptr,
                   int axis = -1);
  Tensor reduce(cudnnReduceTensorOp_t how, Tensor x);
  Tensor mask(Tensor scores, const MaskShape& shape);

  std::int64_t m_heads, m_rows, m_columns;
  std::int64_t m_next_id = first_free;
  std::deque<CudnnDescriptor> m_parts; ///< tensors and modes; addresses stay
  std::deque<CudnnDescriptor> m_operations;
  std::vector<std::int64_t> m_ids;
};

} // namespace breakeven::cuda
