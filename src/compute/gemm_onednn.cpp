#include "compute/gemm.hpp"

#if !BREAKEVEN_HAVE_ONEDNN

namespace breakeven::compute {
std::unique_ptr<GemmEngine> make_onednn_gemm(Element, int) {
  return nullptr;
}
} // namespace breakeven::compute

#else

#include "compute/buffer.hpp"
#include "compute/cpu_features.hpp"
#include "compute/kv_cache.hpp"
#include "compute/onednn_text.hpp"

#include <cstring>
#include <dnnl.hpp>
#include <map>
#include <omp.h>
#include <tuple>

namespace breakeven::compute {
namespace {

using dnnl::memory;

memory::data_type type_of(Element element) {
  return element == Element::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc rows_desc(Element element, std::int64_t rows, std::int64_t columns,
                       std::int64_t stride) {
  return {{rows, columns}, type_of(element), memory::dims{stride != 0 ? stride : columns, 1}};
}

class OnednnMatrix : public PackedMatrix {
public:
  OnednnMatrix(std::int64_t k, std::int64_t n, bool bias, const memory::desc& packed,
               const dnnl::engine& engine, std::int64_t element_bytes)
      : PackedMatrix(k, n, bias), desc(packed), storage(packed.get_size()),
        bias_storage(bias ? static_cast<std::uint64_t>(n * element_bytes) : 0),
        weights(packed, engine, storage.data()) {}

  memory::desc desc;
  Buffer storage, bias_storage;
  memory weights;
};

class OnednnGemm : public GemmEngine {
public:
  OnednnGemm(Element element, int threads)
      : m_element(element), m_threads(threads), m_engine(dnnl::engine::kind::cpu, 0),
        m_stream(m_engine) {}

  std::unique_ptr<PackedMatrix> pack(std::int64_t k, std::int64_t n, const void* plain,
                                     const void* bias, std::int64_t rows_hint) override {
    try {
      omp_set_num_threads(m_threads);
      const memory::desc any({k, n}, type_of(m_element), memory::format_tag::any);
      const Key key{k, n, rows_hint, 0, 0, bias != nullptr, false};
      const auto chosen = describe(key, any);
      auto matrix = std::make_unique<OnednnMatrix>(k, n, bias != nullptr, chosen.weights_desc(),
                                                   m_engine, bytes_of(m_element));
      if (bias != nullptr)
        std::memcpy(matrix->bias_storage.data(), bias, matrix->bias_storage.size_bytes());
      memory source(rows_desc(m_element, k, n, 0), m_engine, const_cast<void*>(plain));
      dnnl::reorder(source, matrix->weights).execute(m_stream, source, matrix->weights);
      m_stream.wait();
      m_implementation = chosen.impl_info_str();
      return matrix;
    } catch (const dnnl::error& e) {
      throw onednn_refusal("pack a", k, n, e);
    }
  }

  void run(const PackedMatrix& matrix, const GemmCall& call) override {
    const auto& m = dynamic_cast<const OnednnMatrix&>(matrix);
    try {
      omp_set_num_threads(m_threads);
      const Key key{m.k(),           m.n(),    call.rows,      call.x_stride,
                    call.out_stride, m.bias(), call.accumulate};
      const dnnl::matmul& primitive = primitive_for(key, m.desc);
      memory x(rows_desc(m_element, call.rows, m.k(), call.x_stride), m_engine,
               const_cast<void*>(call.x));
      memory out(rows_desc(m_element, call.rows, m.n(), call.out_stride), m_engine, call.out);
      std::unordered_map<int, memory> arguments{
          {DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, m.weights}, {DNNL_ARG_DST, out}};
      if (m.bias())
        arguments.insert(
            {DNNL_ARG_BIAS, memory({{1, m.n()}, type_of(m_element), memory::dims{m.n(), 1}},
                                   m_engine, m.bias_storage.data())});
      primitive.execute(m_stream, arguments);
      m_stream.wait();
    } catch (const dnnl::error& e) {
      throw onednn_refusal("multiply by a", m.k(), m.n(), e);
    }
  }

  [[nodiscard]] Element element() const override { return m_element; }
  [[nodiscard]] std::string description() const override {
    return onednn_version() + (m_implementation.empty() ? "" : " " + m_implementation);
  }

private:
  struct Key {
    std::int64_t k, n, rows, x_stride, out_stride;
    bool bias, accumulate;
    auto operator<=>(const Key&) const = default;
  };

  [[nodiscard]] dnnl::matmul::primitive_desc describe(const Key& key,
                                                      const memory::desc& weights) const {
    const memory::desc x = rows_desc(m_element, key.rows, key.k, key.x_stride);
    const memory::desc out = rows_desc(m_element, key.rows, key.n, key.out_stride);
    dnnl::primitive_attr attributes;
    if (key.accumulate) {
      dnnl::post_ops residual;
      residual.append_sum(1.0F);
      attributes.set_post_ops(residual);
    }
    if (!key.bias) return {dnnl::matmul::desc(x, weights, out), attributes, m_engine};
    const memory::desc bias({1, key.n}, type_of(m_element), memory::dims{key.n, 1});
    return {dnnl::matmul::desc(x, weights, bias, out), attributes, m_engine};
  }

  const dnnl::matmul& primitive_for(const Key& key, const memory::desc& weights) {
    const auto found = m_primitives.find(key);
    if (found != m_primitives.end()) return found->second;
    return m_primitives.emplace(key, dnnl::matmul(describe(key, weights))).first->second;
  }

  Element m_element;
  int m_threads;
  dnnl::engine m_engine;
  dnnl::stream m_stream;
  std::string m_implementation;
  std::map<Key, dnnl::matmul> m_primitives;
};

} // namespace

std::unique_ptr<GemmEngine> make_onednn_gemm(Element element, int threads) {
  if (element == Element::bf16 && !cpu_features().avx512_bf16) return nullptr;
  return std::make_unique<OnednnGemm>(element, threads);
}

} // namespace breakeven::compute
#endif
