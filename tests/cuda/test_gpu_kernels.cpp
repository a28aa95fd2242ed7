#include "cuda/gemm/gemm.hpp"
#include "cuda/gpu.hpp"
#include "cuda/kernels/rows.hpp"
#include "cuda/kernels/scan.hpp"

#include <algorithm>
#include <cmath>

using namespace breakeven::cuda;

namespace {

double relative(double got, double expected) {
  return std::abs(got - expected) / std::max(1.0, std::abs(expected));
}
double silu(double x) {
  return x / (1 + std::exp(-x));
}

} // namespace

TEST_CASE("GEMMs multiply, add biases and take strides", "[gpu]") {
  BREAKEVEN_NEEDS_GPU();
  if (!cublaslt_missing().empty()) {
    WARN("skipped: " << cublaslt_missing());
    return;
  }
  const std::size_t rows = 33, k = 128, n = 96, stride = 160;
  const auto x = gpu::Array::random(rows * stride, 1), w = gpu::Array::random(n * k, 2, 0.1F),
             bias = gpu::Array::random(n, 3);
  for (const GemmMode mode : {GemmMode::heuristic, GemmMode::autotuned}) {
    gpu::Array out(rows * n);
    Stream stream;
    Gemm gemm(mode, stream.get());
    GemmCall call;
    call.x = x.device();
    call.weights = w.device();
    call.out = out.device();
    call.bias = bias.device();
    call.rows = rows;
    call.k = k;
    call.n = n;
    call.x_stride = stride;
    gemm.run(call);
    stream.synchronize();
    out.download();
    double worst = 0;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < n; ++c) {
        double expected = bias[c];
        for (std::size_t i = 0; i < k; ++i)
          expected += x[r * stride + i] * w[c * k + i];
        worst = std::max(worst, relative(out[r * n + c], expected));
      }
    CHECK(worst < 0.01);
  }
}

TEST_CASE("Norms, activations and row copies", "[gpu]") {
  BREAKEVEN_NEEDS_GPU();
  const std::size_t rows = 7, width = 1000;
  Stream stream;
  const auto delta = gpu::Array::random(rows * width, 2), weight = gpu::Array::random(width, 3);
  gpu::Array x = gpu::Array::random(rows * width, 1), out(rows * width), gated(rows * width / 2);
  const gpu::Array before = gpu::Array::random(rows * width, 1);
  add_rms_norm(x.device(), delta.device(), weight.device(), out.device(), rows, width,
               stream.get());
  activate(before.device(), gated.device(), rows, width / 2, true, Activation::silu, stream.get());
  stream.synchronize();
  x.download();
  out.download();
  gated.download();
  double worst = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const double sum = before[r * width + i] + delta[r * width + i];
      worst = std::max(worst, relative(x[r * width + i], sum));
      squares += sum * sum;
    }
    const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-5);
    for (std::size_t i = 0; i < width; ++i)
      worst = std::max(worst, relative(out[r * width + i], x[r * width + i] * scale * weight[i]));
    for (std::size_t i = 0; i < width / 2; ++i)
      worst = std::max(worst,
                       relative(gated[r * width / 2 + i],
                                silu(before[r * width + i]) * before[r * width + width / 2 + i]));
  }
  CHECK(worst < 0.02);
}

TEST_CASE("RoPE turns pairs by their angles", "[gpu]") {
  BREAKEVEN_NEEDS_GPU();
  const std::size_t tokens = 5, heads = 3, dim = 64;
  Stream stream;
  gpu::Array x = gpu::Array::random(tokens * heads * dim, 1);
  const gpu::Array before = gpu::Array::random(tokens * heads * dim, 1);
  const DeviceMemory table(tokens * dim * 4, "angles");
  rope_table(table.as<float>(), 100, tokens, dim, stream.get());
  rope(x.device(), table.as<float>(), tokens, heads, dim, dim, heads * dim, stream.get());
  stream.synchronize();
  x.download();
  double worst = 0;
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < dim / 2; ++i) {
        const double angle = static_cast<double>(100 + t) *
                             std::pow(500000.0, -static_cast<double>(i) / (dim / 2.0));
        const std::size_t low = (t * heads + h) * dim + i, high = low + dim / 2;
        worst = std::max(worst, relative(x[low], before[low] * std::cos(angle) -
                                                     before[high] * std::sin(angle)));
        worst = std::max(worst, relative(x[high], before[high] * std::cos(angle) +
                                                      before[low] * std::sin(angle)));
      }
  CHECK(worst < 0.02);
}

TEST_CASE("Rows are gathered and combined", "[gpu]") {
  BREAKEVEN_NEEDS_GPU();
  const std::size_t tokens = 4, width = 64;
  Stream stream;
  const auto x = gpu::Array::random(tokens * width, 1);
  gpu::Array rows(2 * tokens * width), out(tokens * width);
  const auto rows_of = gpu::upload(std::vector<std::int32_t>{3, 1, 0, 2, 2, 0, 1, 3});
  const auto places = gpu::upload(std::vector<std::int32_t>{2, 5, 1, 6, 3, 4, 0, 7});
  gather_rows(x.device(), rows_of.as<std::int32_t>(), rows.device(), 8, width, stream.get());
  combine_rows(rows.device(), places.as<std::int32_t>(), 2, 0.5F, out.device(), false, tokens,
               width, stream.get());
  stream.synchronize();
  out.download();
  double worst = 0;
  for (std::size_t i = 0; i < tokens * width; ++i)
    worst = std::max(worst, relative(out[i], x[i]));
  CHECK(worst < 0.01);
}

namespace {

/// The recurrence of scan.hpp, token by token in double.
std::vector<double> reference_scan(const ScanCall& c, const gpu::Array& projected,
                                   const gpu::Array& taps, const gpu::Array& norm) {
  const auto n = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  const std::size_t total = n(c.total), wide = n(c.convolved_width), dk = n(c.state_dim),
                    dv = n(c.head_dim), heads = n(c.heads);
  std::vector<double> convolved(n(c.tokens) * wide), out(n(c.tokens) * heads * dv);
  for (std::size_t t = 0; t < n(c.tokens); ++t)
    for (std::size_t i = 0; i < wide; ++i) {
      double sum = 0;
      for (std::size_t tap = 0; tap < n(c.taps) && tap <= t; ++tap)
        sum += projected[(t - tap) * total + i] * taps[tap * wide + i];
      convolved[t * wide + i] = silu(sum);
    }
  for (std::size_t head = 0; head < heads; ++head) {
    std::vector<double> state(dk * dv);
    const std::size_t key_head = head * n(c.key_heads) / heads;
    for (std::size_t t = 0; t < n(c.tokens); ++t) {
      const double* row = convolved.data() + t * wide;
      const double* q = row + key_head * dk;
      const double* k = row + n(c.k_column) + key_head * dk;
      const double* v = row + n(c.v_column) + head * dv;
      const double size = 1 / std::sqrt(static_cast<double>(dk));
      const double decay = 1 / (1 + std::exp(projected[t * total + n(c.decay_column) + head]));
      const double beta =
          c.delta ? 1 / (1 + std::exp(projected[t * total + n(c.beta_column) + head])) : 1.0;
      double squares = 0;
      double* y = out.data() + (t * heads + head) * dv;
      for (std::size_t d = 0; d < dv; ++d) {
        double held = 0;
        for (std::size_t i = 0; i < dk; ++i) {
          state[i * dv + d] *= decay;
          held += k[i] * size * state[i * dv + d];
        }
        const double written = beta * (v[d] - (c.delta ? held : 0.0));
        y[d] = 0;
        for (std::size_t i = 0; i < dk; ++i) {
          state[i * dv + d] += k[i] * size * written;
          y[d] += q[i] * size * state[i * dv + d];
        }
        squares += y[d] * y[d];
      }
      const double scale = 1 / std::sqrt(squares / static_cast<double>(dv) + 1e-5);
      for (std::size_t d = 0; d < dv; ++d)
        y[d] *= scale * norm[d] * silu(projected[t * total + n(c.z_column) + head * dv + d]);
    }
  }
  return out;
}

} // namespace

TEST_CASE("The chunked scan is the recurrence", "[gpu]") {
  BREAKEVEN_NEEDS_GPU();
  const std::string reason =
      scan_unsupported_reason(96, 64, open_device("cuda").shared_bytes_per_block);
  if (!reason.empty()) {
    WARN("skipped: this GPU does not take " << reason);
    return;
  }
  for (const bool delta : {false, true}) {
    ScanCall c;
    c.tokens = 150;
    c.heads = 4;
    c.key_heads = 2;
    c.head_dim = 96;
    c.state_dim = 64;
    c.taps = 4;
    c.k_column = 128;
    c.v_column = 256;
    c.z_column = 256 + 4 * 96;
    c.decay_column = c.z_column + 4 * 96;
    c.beta_column = c.decay_column + 4;
    c.total = c.beta_column + 4;
    c.convolved_width = c.z_column;
    c.delta = delta;
    const auto projected = gpu::Array::random(static_cast<std::size_t>(c.tokens * c.total), 1);
    const auto taps = gpu::Array::random(static_cast<std::size_t>(4 * c.convolved_width), 2, 0.5F);
    const auto norm = gpu::Array::random(96, 3, 0.1F, 1.0F);
    const gpu::Array convolved(static_cast<std::size_t>(c.tokens * c.convolved_width));
    gpu::Array out(static_cast<std::size_t>(c.tokens * c.heads * c.head_dim));
    Stream stream;
    c.projected = projected.device();
    c.convolution = taps.device();
    c.convolved = convolved.device();
    c.norm = norm.device();
    c.out = out.device();
    c.stream = stream.get();
    scan(c);
    stream.synchronize();
    out.download();
    const std::vector<double> expected = reference_scan(c, projected, taps, norm);
    double squares = 0, off = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      squares += expected[i] * expected[i];
      off += (out[i] - expected[i]) * (out[i] - expected[i]);
    }
    CHECK(std::sqrt(off / squares) < 0.03); // bf16 operands of every product
  }
}
