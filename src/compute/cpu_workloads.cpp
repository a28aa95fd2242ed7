#include "compute/cpu_compute.hpp"
#include "compute/mixer_latent.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace breakeven::compute {
namespace {
using clock = std::chrono::steady_clock;

/// A sample should last this long where the work allows: long against timer and scheduler noise,
/// short against the time budget.
constexpr double sample_s = 0.1;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

/// Query-key pairs to flop: a score and a weighted sum, 2 flop per element each; MLA: and the
/// expansion of every key.
double attention_flop(const model::LayerKind& kind, std::int64_t context, std::int64_t tokens) {
  const AttentionShape shape = attention_shape(kind.attention);
  if (shape.heads == 0) return 0;
  return 2.0 * static_cast<double>(shape.heads * (shape.qk_dim + shape.v_dim)) *
             visible_pairs(shape, held_context(shape, context), tokens) +
         expansion_flop(kind.attention) * static_cast<double>(context + tokens);
}

/// Embedding, some layers of each kind, final norm and LM head; with attention or without.
class PassWorkload : public CpuWorkload {
public:
  PassWorkload(CpuCompute& compute, std::int64_t context, std::int64_t tokens, bool with_attention)
      : CpuWorkload((with_attention ? "step/" + std::to_string(context) + "+" : "dense/") +
                    std::to_string(tokens)),
        m_compute(compute), m_context(context), m_tokens(tokens), m_with_attention(with_attention) {
    const model::Architecture& a = compute.architecture();
    for (const model::LayerKind& kind : a.kinds) {
      const double flop = dense_flop_per_token(kind, a.hidden) * static_cast<double>(tokens) +
                          (with_attention ? attention_flop(kind, context, tokens) : 0.0);
      const double bytes = weight_elements(kind, a.hidden, kind.mlp.experts) *
                           static_cast<double>(compute.runtime().element_bytes());
      const double estimate = std::max(compute.estimate_s(flop, bytes), 1e-9);
      const double wanted =
          compute.options().full_depth
              ? static_cast<double>(kind.count)
              : std::floor(sample_s / static_cast<double>(a.kinds.size()) / estimate);
      m_layers.push_back(
          static_cast<std::int64_t>(std::clamp(wanted, 1.0, static_cast<double>(kind.count))));
    }
  }

protected:
  void do_prepare() override { m_compute.set_rope(m_context, m_tokens); }

  void do_run() override {
    const Pass pass{m_context, m_tokens, &m_compute.workspace()};
    m_work = {};
    const auto start = clock::now();
    m_compute.embed(m_tokens);
    m_seconds = seconds_since(start);
    for (std::size_t i = 0; i < m_layers.size(); ++i)
      m_seconds += run_kind(i, pass);
    m_seconds += m_compute.head(m_tokens);
    m_work.heads = 1;
  }

  /// Layers scaled to full depth, the rest as it is.
  [[nodiscard]] double do_device_seconds() const override { return m_seconds; }

private:
  double run_kind(std::size_t index, const Pass& pass) {
    const auto count = static_cast<double>(m_compute.architecture().kinds[index].count);
    const double ratio = count / static_cast<double>(m_layers[index]);
    double pairs = 0;
    const auto start = clock::now();
    for (std::int64_t n = 0; n < m_layers[index]; ++n) {
      CpuCompute::Kind& kind = m_compute.kind(index);
      Layer& layer = kind.take_layer();
      layer.run(pass, kind.take_cache(), m_with_attention);
      pairs += layer.last_pairs();
    }
    const double seconds = seconds_since(start);
    m_work.layers.push_back(static_cast<double>(m_layers[index]) * ratio);
    if (m_with_attention) m_work.pairs += pairs * ratio;
    return seconds * ratio;
  }

  CpuCompute& m_compute;
  std::int64_t m_context, m_tokens;
  bool m_with_attention;
  std::vector<std::int64_t> m_layers; ///< per kind and run
  double m_seconds = 0;
};

/// Attention of one kind alone: a few KV heads, and for long work a part of their tiles, scaled by
/// the exact number of query-key pairs. Heads and caches take turns.
class AttentionWorkload : public CpuWorkload {
public:
  AttentionWorkload(CpuCompute& compute, std::size_t kind, std::int64_t context,
                    std::int64_t tokens)
      : CpuWorkload("attention/" + compute.architecture().kinds[kind].name + "/" +
                    std::to_string(context) + "+" + std::to_string(tokens)),
        m_compute(compute), m_kind(kind), m_context(context), m_tokens(tokens),
        m_shape(attention_shape(compute.architecture().kinds[kind].attention)) {
    const double pairs = visible_pairs(m_shape, held_context(m_shape, context), tokens);
    const model::LayerKind& spec = compute.architecture().kinds[kind];
    m_layer_pairs = pairs * static_cast<double>(m_shape.heads);
    const double estimate =
        std::max(compute.estimate_s(attention_flop(spec, context, tokens), 0), 1e-9);
    choose_sample(estimate);
    const auto count = static_cast<double>(compute.architecture().kinds[kind].count);
    m_layers =
        static_cast<std::int64_t>(std::clamp(std::floor(sample_s / 4 / estimate), 1.0, count));
  }

protected:
  void do_run() override {
    const Pass pass{m_context, m_tokens, &m_compute.workspace()};
    CpuCompute::Kind& kind = m_compute.kind(m_kind);
    double pairs = 0;
    const auto start = clock::now();
    for (std::int64_t n = 0; n < m_layers; ++n)
      pairs += kind.layers.front()->mixer()->attend(pass, kind.take_cache(), m_sample);
    const double seconds = seconds_since(start);
    m_sample.first_kv_head = (m_sample.first_kv_head + m_sample.kv_head_count) % m_shape.kv_heads;
    const auto count = static_cast<double>(m_compute.architecture().kinds[m_kind].count);
    const double ratio = count * m_layer_pairs / pairs;
    m_work = {};
    m_work.pairs = pairs * ratio;
    m_seconds = seconds * ratio;
  }

  [[nodiscard]] double do_device_seconds() const override { return m_seconds; }

private:
  /// Shrinks the sample to about sample_s, as long as threads stay evenly loaded.
  void choose_sample(double layer_s) {
    m_sample.kv_head_count = m_shape.kv_heads;
    AttentionCall call;
    call.kernels = m_compute.runtime().kernels;
    call.shape = &m_shape;
    call.new_tokens = m_tokens;
    call.threads = m_compute.runtime().threads;
    const double enough = 8.0 * call.threads; // tiles, so that the last ones do not matter
    double estimate = layer_s;
    const auto tiles = [&] {
      call.kv_head_count = m_sample.kv_head_count;
      return static_cast<double>(tiles_per_head(call) * m_sample.kv_head_count) /
             static_cast<double>(m_sample.tile_step);
    };
    // MLA expands keys of whole groups of heads, whatever the number of tiles.
    const model::AttentionSpec& spec = m_compute.architecture().kinds[m_kind].attention;
    const bool expands = spec.kind == model::AttentionKind::mla;
    const std::int64_t least = expands ? latent_head_group(spec) : 1;
    while (estimate > sample_s && m_sample.kv_head_count % 2 == 0 &&
           m_sample.kv_head_count / 2 >= least && tiles() / 2 >= enough) {
      m_sample.kv_head_count /= 2;
      estimate /= 2;
    }
    while (!expands && estimate > 2 * sample_s && tiles() / 2 >= enough) {
      m_sample.tile_step *= 2;
      estimate /= 2;
    }
  }

  CpuCompute& m_compute;
  std::size_t m_kind;
  std::int64_t m_context, m_tokens;
  AttentionShape m_shape;
  HeadSample m_sample;
  std::int64_t m_layers = 1;
  double m_layer_pairs = 0; ///< of one layer, over all heads
  double m_seconds = 0;
};

} // namespace

std::unique_ptr<measure::Workload> make_dense_workload(CpuCompute& compute, std::int64_t tokens) {
  return std::make_unique<PassWorkload>(compute, 0, tokens, false);
}

std::unique_ptr<measure::Workload> make_step_workload(CpuCompute& compute, std::int64_t context,
                                                      std::int64_t tokens) {
  return std::make_unique<PassWorkload>(compute, context, tokens, true);
}

std::unique_ptr<measure::Workload> make_attention_workload(CpuCompute& compute, std::size_t kind,
                                                           std::int64_t context,
                                                           std::int64_t tokens) {
  return std::make_unique<AttentionWorkload>(compute, kind, context, tokens);
}

} // namespace breakeven::compute
