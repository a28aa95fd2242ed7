#include "compute/gemm.hpp"

#if !BREAKEVEN_HAVE_ONEDNN

namespace breakeven::compute {
std::unique_ptr<GemmEngine> make_onednn_int8_gemm(int) {
  return nullptr;
}
} // namespace breakeven::compute

#else

#include "compute/bf16.hpp"
#include "compute/buffer.hpp"
#include "compute/int8.hpp"
#include "compute/onednn_text.hpp"

#include <dnnl.hpp>
#include <map>
#include <omp.h>
#include <vector>

namespace breakeven::compute {
namespace {

using dnnl::memory;

dnnl::matmul::primitive_desc describe(std::int64_t rows, std::int64_t k,
                                      const memory::desc& weights, std::int64_t n,
                                      const dnnl::engine& engine) {
  const memory::desc x({rows, k}, memory::data_type::s8, memory::format_tag::ab);
  const memory::desc out({rows, n}, memory::data_type::s32, memory::format_tag::ab);
  return {dnnl::matmul::desc(x, weights, out), engine};
}

memory::desc any_weights(std::int64_t k, std::int64_t n) {
  return {{k, n}, memory::data_type::s8, memory::format_tag::any};
}

class Int8Matrix : public PackedMatrix {
public:
  Int8Matrix(std::int64_t k, std::int64_t n, const memory::desc& packed, const dnnl::engine& engine)
      : PackedMatrix(k, n, false), desc(packed), storage(packed.get_size()),
        weights(packed, engine, storage.data()) {}

  memory::desc desc;
  Buffer storage;
  memory weights;
  std::vector<float> scale; ///< per column
  std::vector<float> bias;  ///< per column; empty = none
};

/// Products in int8 with activations quantised per token as they come (W8A8 as engines run it):
/// out = int32 product * scale of the row * scale of the column.
class OnednnInt8Gemm : public GemmEngine {
public:
  OnednnInt8Gemm(int threads, std::string implementation)
      : m_threads(threads), m_engine(dnnl::engine::kind::cpu, 0), m_stream(m_engine),
        m_implementation(std::move(implementation)) {}

  std::unique_ptr<PackedMatrix> pack(std::int64_t k, std::int64_t n, const void* plain,
                                     const void* bias, std::int64_t rows_hint) override {
    try {
      omp_set_num_threads(m_threads);
      const auto chosen = describe(rows_hint, k, any_weights(k, n), n, m_engine);
      auto matrix = std::make_unique<Int8Matrix>(k, n, chosen.weights_desc(), m_engine);
      Buffer quantised(static_cast<std::uint64_t>(k) * static_cast<std::uint64_t>(n));
      matrix->scale =
          quantise_columns(static_cast<const bf16*>(plain), k, n, quantised.as<std::int8_t>());
      if (bias != nullptr) {
        const auto* values = static_cast<const bf16*>(bias);
        for (std::int64_t i = 0; i < n; ++i)
          matrix->bias.push_back(to_float(values[i]));
      }
      memory source({{k, n}, memory::data_type::s8, memory::format_tag::ab}, m_engine,
                    quantised.data());
      dnnl::reorder(source, matrix->weights).execute(m_stream, source, matrix->weights);
      m_stream.wait();
      return matrix;
    } catch (const dnnl::error& e) {
      throw onednn_refusal("pack an int8", k, n, e);
    }
  }

  void run(const PackedMatrix& matrix, const GemmCall& call) override {
    const auto& m = dynamic_cast<const Int8Matrix&>(matrix);
    const std::int64_t k = m.k(), n = m.n();
    grow(m_x, call.rows * k);
    grow(m_product, call.rows * n * 4);
    m_row_scale.resize(static_cast<std::size_t>(call.rows));
    const std::int64_t x_stride = call.x_stride != 0 ? call.x_stride : k;
    const std::int64_t out_stride = call.out_stride != 0 ? call.out_stride : n;
    const auto* x = static_cast<const bf16*>(call.x);
    auto* out = static_cast<bf16*>(call.out);
#pragma omp parallel for schedule(static) num_threads(m_threads)
    for (std::int64_t r = 0; r < call.rows; ++r)
      m_row_scale[static_cast<std::size_t>(r)] =
          quantise_row(x + r * x_stride, k, m_x.as<std::int8_t>() + r * k);
    multiply(m, call.rows);
    const float* bias = m.bias.empty() ? nullptr : m.bias.data();
#pragma omp parallel for schedule(static) num_threads(m_threads)
    for (std::int64_t r = 0; r < call.rows; ++r)
      dequantise_row(m_product.as<std::int32_t>() + r * n, m_row_scale[static_cast<std::size_t>(r)],
                     m.scale.data(), bias, out + r * out_stride, n, call.accumulate);
  }

  [[nodiscard]] Element element() const override {
    return Element::bf16;
  }
  [[nodiscard]] std::string description() const override {
    return onednn_version() + " " + m_implementation + " int8";
  }

private:
  static void grow(Buffer& buffer, std::int64_t bytes) {
    if (buffer.size_bytes() < static_cast<std::uint64_t>(bytes))
      buffer = Buffer(static_cast<std::uint64_t>(bytes));
  }

  void multiply(const Int8Matrix& m, std::int64_t rows) {
    try {
      omp_set_num_threads(m_threads);
      const Key key{m.k(), m.n(), rows};
      auto found = m_primitives.find(key);
      if (found == m_primitives.end())
        found =
            m_primitives.emplace(key, dnnl::matmul(describe(rows, m.k(), m.desc, m.n(), m_engine)))
                .first;
      memory x({{rows, m.k()}, memory::data_type::s8, memory::format_tag::ab}, m_engine,
               m_x.data());
      memory product({{rows, m.n()}, memory::data_type::s32, memory::format_tag::ab}, m_engine,
                     m_product.data());
      found->second.execute(
          m_stream, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, m.weights}, {DNNL_ARG_DST, product}});
      m_stream.wait();
    } catch (const dnnl::error& e) {
      throw onednn_refusal("multiply by an int8", m.k(), m.n(), e);
    }
  }

  struct Key {
    std::int64_t k, n, rows;
    auto operator<=>(const Key&) const = default;
  };
  int m_threads;
  dnnl::engine m_engine;
  dnnl::stream m_stream;
  std::string m_implementation;
  Buffer m_x, m_product;
  std::vector<float> m_row_scale;
  std::map<Key, dnnl::matmul> m_primitives;
};

} // namespace

std::unique_ptr<GemmEngine> make_onednn_int8_gemm(int threads) {
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    const std::string name = describe(256, 512, any_weights(512, 512), 512, engine).impl_info_str();
    // Without dot-product instructions oneDNN multiplies in wider types or in reference code.
    if (name.find("vnni") == std::string::npos && name.find("amx") == std::string::npos)
      return nullptr;
    return std::make_unique<OnednnInt8Gemm>(threads, name);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

} // namespace breakeven::compute
#endif
