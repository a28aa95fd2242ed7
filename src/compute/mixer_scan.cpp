#include "compute/mixer_scan.hpp"

#include "compute/bf16.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <omp.h>
#include <utility>

namespace breakeven::compute {
namespace {

constexpr std::int64_t chunk = scan_chunk;

/// Scratch of one thread; rows are tokens of the chunk, columns padded to 32.
struct ScanScratch {
  float *q, *k, *k_transposed, *v, *written, *out, *scores, *solve, *state;
  float decay[chunk], beta[chunk];
};

class ScanMixer : public Mixer {
public:
  ScanMixer(const Runtime& runtime, const model::LayerKind& kind, const LayerOptions& options)
      : m_runtime(runtime), m_spec(kind.state), m_columns(kind.state),
        m_delta(kind.state.kind == model::StateKind::gated_delta_net),
        m_kp(KvCache::padded(m_spec.state_dim)), m_vp(KvCache::padded(m_spec.head_dim)) {
    m_in = random_matrix(runtime, options.hidden, m_columns.total, false, options.seed, "in");
    m_out = random_matrix(runtime, m_spec.heads * m_spec.head_dim, options.hidden, false,
                          options.seed, "out");
    m_norm = random_norm(runtime, m_spec.head_dim, options.seed, "scan_norm");
    m_taps = std::max<std::int64_t>(m_spec.conv_kernel, 1);
    m_convolution =
        Buffer(static_cast<std::uint64_t>(m_taps * m_columns.convolved * runtime.element_bytes()));
    fill_random(*runtime.kernels, m_convolution.data(), m_taps * m_columns.convolved,
                weight_seed(options.seed, "convolution"), 1.0F, runtime.threads);
    m_scratch_floats = chunk * (2 * m_kp + 4 * m_vp + 2 * chunk) + m_kp * (chunk + m_vp);
    m_scratch = Buffer(static_cast<std::uint64_t>(m_scratch_floats * 4 * runtime.threads));
  }

  void before(const Pass& pass, KvCache*) override {
    Workspace& w = *pass.workspace;
    m_runtime.gemm->run(*m_in, {w.normed.data(), pass.tokens, w.projected.data()});
    convolve(pass);
#pragma omp parallel num_threads(m_runtime.threads)
    {
      ScanScratch s = scratch(omp_get_thread_num());
#pragma omp for schedule(dynamic, 1)
      for (std::int64_t head = 0; head < m_spec.heads; ++head)
        scan_head(pass, head, s);
    }
  }

  double attend(const Pass&, KvCache*, const HeadSample&) override {
    return 0;
  }

  void after(const Pass& pass) override {
    Workspace& w = *pass.workspace;
    m_runtime.gemm->run(*m_out, {w.mixed.data(), pass.tokens, w.hidden.data(), true});
  }

private:
  ScanScratch scratch(int thread) {
    float* p = m_scratch.as<float>() + m_scratch_floats * thread;
    ScanScratch s;
    const auto take = [&p](std::int64_t n) { return std::exchange(p, p + n); };
    s.q = take(chunk * m_kp);
    s.k = take(chunk * m_kp);
    s.v = take(chunk * m_vp);
    s.written = take(chunk * m_vp);
    s.out = take(chunk * m_vp);
    s.solve = take(chunk * m_vp);
    s.scores = take(chunk * chunk * 2);
    s.k_transposed = take(m_kp * chunk);
    s.state = take(m_kp * m_vp);
    return s;
  }

  /// Causal depthwise convolution and SiLU of the q, k and v columns, to fp32 rows in `extra`.
  void convolve(const Pass& pass) {
    Workspace& w = *pass.workspace;
    const std::int64_t row_bytes = m_columns.total * m_runtime.element_bytes();
    const bool convolves = m_spec.conv_kernel > 0;
#pragma omp parallel for schedule(static) num_threads(m_runtime.threads)
    for (std::int64_t t = 0; t < pass.tokens; ++t)
      m_runtime.kernels->convolve(w.projected.data() + t * row_bytes, m_columns.total,
                                  convolves ? m_convolution.data() : nullptr,
                                  std::min(m_taps, t + 1), convolved_row(w, t),
                                  m_columns.convolved);
  }

  float* convolved_row(Workspace& w, std::int64_t t) const {
    return w.extra.as<float>() + t * m_columns.convolved;
  }

  [[nodiscard]] float value(const std::byte* row, std::int64_t column) const {
    if (m_runtime.kernels->element == Element::fp32)
      return reinterpret_cast<const float*>(row)[column];
    return to_float(reinterpret_cast<const bf16*>(row)[column]);
  }

  void scan_head(const Pass& pass, std::int64_t head, ScanScratch& s) {
    std::fill_n(s.state, m_kp * m_vp, 0.0F);
    for (std::int64_t first = 0; first < pass.tokens; first += chunk) {
      const std::int64_t rows = std::min(chunk, pass.tokens - first);
      load_chunk(pass, head, first, rows, s);
      scan_rows(s);
      store_chunk(pass, head, first, rows, s);
    }
  }

  /// Rows beyond the last token are zero, with decay 1: they change nothing.
  void load_chunk(const Pass& pass, std::int64_t head, std::int64_t first, std::int64_t rows,
                  ScanScratch& s) {
    Workspace& w = *pass.workspace;
    const std::int64_t key_head = head * m_spec.key_heads / m_spec.heads;
    const std::int64_t dk = m_spec.state_dim, dv = m_spec.head_dim;
    std::fill_n(s.q, chunk * m_kp, 0.0F);
    std::fill_n(s.k, chunk * m_kp, 0.0F);
    std::fill_n(s.v, chunk * m_vp, 0.0F);
    float total = 0; // logarithm of the decay since the chunk's start
    for (std::int64_t i = 0; i < chunk; ++i) {
      if (i < rows) {
        const float* row = convolved_row(w, first + i);
        const float size = 1.0F / std::sqrt(static_cast<float>(dk)); // keeps |k|^2 below 1
        for (std::int64_t d = 0; d < dk; ++d) {
          s.q[i * m_kp + d] = row[key_head * dk + d] * size;
          s.k[i * m_kp + d] = row[m_columns.k + key_head * dk + d] * size;
        }
        std::copy_n(row + m_columns.v + head * dv, dv, s.v + i * m_vp);
        const std::byte* in =
            w.projected.data() + (first + i) * m_columns.total * m_runtime.element_bytes();
        total -= std::log1p(std::exp(value(in, m_columns.decay + head)));
        s.beta[i] = m_delta ? 1 / (1 + std::exp(value(in, m_columns.beta + head))) : 1.0F;
      } else {
        s.beta[i] = 0;
      }
      s.decay[i] = total;
    }
    for (std::int64_t i = 0; i < chunk; ++i)
      for (std::int64_t d = 0; d < m_kp; ++d)
        s.k_transposed[d * chunk + i] = s.k[i * m_kp + d];
  }

  /// One chunk: what each row writes, its output, and the state after the chunk.
  void scan_rows(ScanScratch& s) {
    const auto product = m_runtime.kernels->matmul;
    // written = beta (v - [delta] e^decay k S - sum over earlier rows of A written)
    if (m_delta) {
      product(s.k, m_kp, s.state, m_vp, s.written, m_vp, chunk, m_vp, m_kp, false);
      for (std::int64_t i = 0; i < chunk; ++i) {
        const float factor = std::exp(s.decay[i]);
        for (std::int64_t d = 0; d < m_vp; ++d)
          s.written[i * m_vp + d] =
              s.beta[i] * (s.v[i * m_vp + d] - factor * s.written[i * m_vp + d]);
      }
      product(s.k, m_kp, s.k_transposed, chunk, s.scores, chunk, chunk, chunk, m_kp, false);
      for (std::int64_t i = 1; i < chunk; ++i)
        for (std::int64_t j = 0; j < i; ++j) {
          const float a = s.beta[i] * s.scores[i * chunk + j] * std::exp(s.decay[i] - s.decay[j]);
          for (std::int64_t d = 0; d < m_vp; ++d)
            s.written[i * m_vp + d] -= a * s.written[j * m_vp + d];
        }
    } else {
      for (std::int64_t i = 0; i < chunk * m_vp; ++i)
        s.written[i] = s.beta[i / m_vp] * s.v[i];
    }
    product(s.q, m_kp, s.k_transposed, chunk, s.scores, chunk, chunk, chunk, m_kp, false);
    for (std::int64_t i = 0; i < chunk; ++i)
      for (std::int64_t j = 0; j < chunk; ++j)
        s.scores[i * chunk + j] =
            j <= i ? s.scores[i * chunk + j] * std::exp(s.decay[i] - s.decay[j]) : 0.0F;
    product(s.q, m_kp, s.state, m_vp, s.out, m_vp, chunk, m_vp, m_kp, false);
    for (std::int64_t i = 0; i < chunk; ++i) {
      const float factor = std::exp(s.decay[i]);
      for (std::int64_t d = 0; d < m_vp; ++d)
        s.out[i * m_vp + d] *= factor;
    }
    product(s.scores, chunk, s.written, m_vp, s.out, m_vp, chunk, m_vp, chunk, true);
    const float last = s.decay[chunk - 1];
    for (std::int64_t i = 0; i < chunk; ++i) {
      const float factor = std::exp(last - s.decay[i]);
      for (std::int64_t d = 0; d < m_kp; ++d)
        s.k_transposed[d * chunk + i] *= factor;
    }
    const float kept = std::exp(last);
    for (std::int64_t i = 0; i < m_kp * m_vp; ++i)
      s.state[i] *= kept;
    product(s.k_transposed, chunk, s.written, m_vp, s.state, m_vp, m_kp, m_vp, chunk, true);
  }

  /// Norm per head, gate, round to the activation type.
  void store_chunk(const Pass& pass, std::int64_t head, std::int64_t first, std::int64_t rows,
                   const ScanScratch& s) {
    Workspace& w = *pass.workspace;
    const std::int64_t bytes = m_runtime.element_bytes(), dv = m_spec.head_dim;
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t t = first + i;
      std::byte* out = w.mixed.data() + (t * m_spec.heads + head) * dv * bytes;
      for (std::int64_t d = 0; d < dv; ++d) {
        const float x = s.out[i * m_vp + d];
        if (bytes == 4)
          reinterpret_cast<float*>(out)[d] = x;
        else
          reinterpret_cast<bf16*>(out)[d] = to_bf16(x);
      }
      const std::byte* z =
          w.projected.data() + (t * m_columns.total + m_columns.z + head * dv) * bytes;
      m_runtime.kernels->rms_norm(out, m_norm.data(), out, dv, norm_epsilon);
      m_runtime.kernels->gated(z, out, out, dv, RowActivation::silu);
    }
  }

  Runtime m_runtime;
  model::StateSpec m_spec;
  ScanColumns m_columns;
  bool m_delta;
  std::int64_t m_kp, m_vp, m_taps = 1, m_scratch_floats = 0;
  std::unique_ptr<PackedMatrix> m_in, m_out;
  Buffer m_norm, m_convolution, m_scratch;
};

} // namespace

ScanColumns::ScanColumns(const model::StateSpec& spec)
    : k(spec.key_heads * spec.state_dim), v(2 * k), z(v + spec.heads * spec.head_dim),
      decay(z + spec.heads * spec.head_dim), beta(decay + spec.heads), total(beta + spec.heads),
      convolved(z) {}

std::unique_ptr<Mixer> make_scan_mixer(const Runtime& runtime, const model::LayerKind& kind,
                                       const LayerOptions& options) {
  return std::make_unique<ScanMixer>(runtime, kind, options);
}

double scan_flop_per_token(const model::StateSpec& spec) {
  const auto dk = static_cast<double>(spec.state_dim), dv = static_cast<double>(spec.head_dim);
  const double products = spec.kind == model::StateKind::gated_delta_net ? 2 : 1;
  const auto c = static_cast<double>(scan_chunk);
  return 2 * static_cast<double>(spec.heads) * (products * (c * (dk + dv) + dk * dv) + dk * dv);
}

} // namespace breakeven::compute
