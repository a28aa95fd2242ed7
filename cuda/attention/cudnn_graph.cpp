#if __has_include(<cudnn_backend.h>)
#include "cuda/attention/cudnn_graph.hpp"

namespace breakeven::cuda {

CudnnGraph::CudnnGraph(const AttentionCall& call)
    : m_heads(call.heads), m_rows(call.mask.queries),
      m_columns(call.mask.context + call.mask.queries) {
  const std::int64_t qk = call.qk_dim, dv = call.v_dim, kv = call.kv_heads;
  Tensor q_in =
      input(q, {1, m_heads, m_rows, qk}, {m_rows * call.q_token, call.q_head, call.q_token, 1});
  Tensor k_in =
      input(k, {1, kv, qk, m_columns}, {m_columns * call.k_token, call.k_head, 1, call.k_token});
  Tensor v_in =
      input(v, {1, kv, m_columns, dv}, {m_columns * call.v_token, call.v_head, call.v_token, 1});
  Tensor result = input(out, {1, m_heads, m_rows, dv},
                        {m_rows * call.out_token, call.out_head, call.out_token, 1});

  Tensor raw = between(CUDNN_DATA_FLOAT, m_columns);
  matmul(q_in, k_in, raw);
  Tensor scores = pointwise(CUDNN_POINTWISE_MUL, raw, scalar(scale, CUDNN_DATA_FLOAT),
                            CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT);
  Tensor masked = mask(scores, call.mask);
  Tensor top = reduce(CUDNN_REDUCE_TENSOR_MAX, masked);
  Tensor below = pointwise(CUDNN_POINTWISE_SUB, masked, top, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT);
  Tensor weights =
      pointwise(CUDNN_POINTWISE_EXP, below, nullptr, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT);
  Tensor sum = reduce(CUDNN_REDUCE_TENSOR_ADD, weights);
  Tensor softmax =
      pointwise(CUDNN_POINTWISE_DIV, weights, sum, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT);
  matmul(softmax, v_in, result);
}

std::vector<cudnnBackendDescriptor_t> CudnnGraph::operations() const {
  std::vector<cudnnBackendDescriptor_t> all;
  for (const CudnnDescriptor& operation : m_operations)
    all.push_back(operation.get());
  return all;
}

CudnnGraph::Tensor CudnnGraph::tensor(std::int64_t id, cudnnDataType_t type, const Dims& dims,
                                      const Dims& strides, bool made_here, bool is_scalar) {
  CudnnDescriptor& t = m_parts.emplace_back(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const std::int64_t alignment = 16;
  t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
  t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims.data());
  t.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data());
  t.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, made_here);
  t.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, is_scalar);
  t.finalize("describing a tensor of attention");
  if (!made_here) m_ids.push_back(id);
  return &t;
}

CudnnGraph::Tensor CudnnGraph::input(Id id, const Dims& dims, const Dims& strides) {
  return tensor(id, CUDNN_DATA_BFLOAT16, dims, strides, false, false);
}

CudnnGraph::Tensor CudnnGraph::scalar(Id id, cudnnDataType_t type) {
  return tensor(id, type, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
}

CudnnGraph::Tensor CudnnGraph::between(cudnnDataType_t type, std::int64_t columns) {
  return tensor(m_next_id++, type, {1, m_heads, m_rows, columns},
                {m_heads * m_rows * columns, m_rows * columns, columns, 1}, true, false);
}

void CudnnGraph::matmul(Tensor a, Tensor b, Tensor c) {
  CudnnDescriptor& how = m_parts.emplace_back(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  how.finalize("describing a product of attention");
  CudnnDescriptor& operation = m_operations.emplace_back(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *c);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
  operation.finalize("describing a product of attention");
}

CudnnGraph::Tensor CudnnGraph::pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor b,
                                         cudnnDataType_t type, cudnnDataType_t precision,
                                         Tensor result, Tensor selector, int axis) {
  CudnnDescriptor& how = m_parts.emplace_back(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, precision);
  const std::int64_t wide_axis = axis;
  if (axis >= 0) how.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, wide_axis);
  how.finalize("describing a step of attention");
  if (result == nullptr) result = between(type, m_columns);
  CudnnDescriptor& operation =
      m_operations.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x);
  if (b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  if (selector != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *selector);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *result);
  operation.finalize("describing a step of attention");
  return result;
}

CudnnGraph::Tensor CudnnGraph::reduce(cudnnReduceTensorOp_t op, Tensor x) {
  CudnnDescriptor& how = m_parts.emplace_back(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, op);
  how.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  how.finalize("describing the softmax");
  Tensor result = between(CUDNN_DATA_FLOAT, 1);
  CudnnDescriptor& operation =
      m_operations.emplace_back(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *x);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *result);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
  operation.finalize("describing the softmax");
  return result;
}

/// Keeps scores where row + keys - queries >= column and, with a window, column + window - keys +
/// queries > row; others become `negative`.
CudnnGraph::Tensor CudnnGraph::mask(Tensor scores, const MaskShape& shape) {
  constexpr cudnnDataType_t whole = CUDNN_DATA_INT32, flag = CUDNN_DATA_BOOLEAN;
  Tensor all_keys = scalar(keys, whole), all_queries = scalar(queries, whole);
  Tensor least = scalar(negative, CUDNN_DATA_FLOAT);
  const auto index = [&](int axis) {
    return pointwise(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr, whole, CUDNN_DATA_FLOAT, nullptr,
                     nullptr, axis);
  };
  const auto select = [&](Tensor x, Tensor keep) {
    return pointwise(CUDNN_POINTWISE_BINARY_SELECT, x, least, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
                     nullptr, keep);
  };
  Tensor row = index(2), column = index(3);
  row = pointwise(CUDNN_POINTWISE_ADD, row, all_keys, whole, whole);
  row = pointwise(CUDNN_POINTWISE_SUB, row, all_queries, whole, whole);
  Tensor masked = select(scores, pointwise(CUDNN_POINTWISE_CMP_GE, row, column, flag, flag));
  if (shape.window == 0) return masked;
  Tensor low = index(3);
  low = pointwise(CUDNN_POINTWISE_ADD, low, scalar(window, whole), whole, whole);
  low = pointwise(CUDNN_POINTWISE_SUB, low, all_keys, whole, whole);
  low = pointwise(CUDNN_POINTWISE_ADD, low, all_queries, whole, whole);
  return select(masked, pointwise(CUDNN_POINTWISE_CMP_GT, low, index(2), flag, flag));
}

} // namespace breakeven::cuda
#endif
