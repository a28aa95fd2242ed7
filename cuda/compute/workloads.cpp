#include "compute/layer.hpp"
#include "cuda/compute/cuda_compute.hpp"
#include "cuda/runtime/graph.hpp"

#include <algorithm>
#include <cmath>

namespace breakeven::cuda {
namespace {

/// A sample lasts about this long where the work allows: long against an event's resolution and
/// the gap between two graphs, short against the time budget.
constexpr double sample_s = 0.01;

/// Query-key pairs to flop, as in the CPU back end; MLA: and the expansion of every key.
double attention_flop(const model::LayerKind& kind, std::int64_t context, std::int64_t tokens) {
  const compute::AttentionShape shape = compute::attention_shape(kind.attention);
  if (shape.heads == 0) return 0;
  return 2.0 * static_cast<double>(shape.heads * (shape.qk_dim + shape.v_dim)) *
             compute::visible_pairs(shape, compute::held_context(shape, context), tokens) +
         compute::expansion_flop(kind.attention) * static_cast<double>(context + tokens);
}

/// Segments that follow each other on the stream, each a graph, timed by events between them. A
/// run's seconds are the sum of segments, each multiplied to full depth.
class GraphWorkload : public measure::Workload {
public:
  GraphWorkload(std::string name, CudaCompute& compute)
      : Workload(std::move(name)), m_compute(compute) {}

protected:
  void add_segment(double ratio, std::function<void()> enqueue) {
    m_segments.push_back({ratio, std::move(enqueue), Graph()});
  }
  /// What must be on the device before a run, outside the timed region.
  virtual void set_up() {}

  void do_prepare() override {
    if (!m_recorded) record();
    set_up();
    m_compute.keep_busy([this] { return execute(false); });
  }

  void do_run() override {
    execute(true);
    m_seconds = 0;
    for (std::size_t i = 0; i < m_segments.size(); ++i)
      m_seconds += m_segments[i].ratio * seconds_between(m_events[i], m_events[i + 1]);
  }

  [[nodiscard]] double do_device_seconds() const override { return m_seconds; }
  [[nodiscard]] bool do_throttled() const override { return m_throttled; }

private:
  struct Segment {
    double ratio;
    std::function<void()> enqueue;
    Graph graph;
  };

  /// Once without a graph, which chooses GEMM algorithms and loads kernels; then recorded.
  void record() {
    set_up();
    for (Segment& segment : m_segments)
      segment.enqueue();
    for (Segment& segment : m_segments)
      segment.graph = Graph(m_compute.stream(), segment.enqueue);
    m_events.clear();
    m_events.resize(m_segments.size() + 1);
    m_recorded = true;
  }

  /// Device seconds from first to last event, as they passed. The GPU is looked at while it works.
  double execute(bool look) {
    for (std::size_t i = 0; i < m_segments.size(); ++i) {
      m_events[i].record(m_compute.stream());
      m_segments[i].graph.launch(m_compute.stream());
    }
    m_events.back().record(m_compute.stream());
    if (look) {
      m_compute.watch().look();
      m_throttled = m_compute.watch().throttled();
    }
    m_events.back().synchronize();
    const double seconds = seconds_between(m_events.front(), m_events.back());
    m_compute.was_busy(seconds);
    return seconds;
  }

  CudaCompute& m_compute;
  std::vector<Segment> m_segments;
  std::vector<Event> m_events;
  bool m_recorded = false, m_throttled = false;
  double m_seconds = 0;
};

/// Embedding, some layers of each kind, final norm and LM head; with attention or without.
class PassWorkload : public GraphWorkload {
public:
  PassWorkload(CudaCompute& compute, std::int64_t context, std::int64_t tokens, bool with_attention)
      : GraphWorkload((with_attention ? "step/" + std::to_string(context) + "+" : "dense/") +
                          std::to_string(tokens),
                      compute),
        m_compute(compute), m_pass{context, tokens} {
    const model::Architecture& a = compute.architecture();
    add_segment(1, [&compute, tokens] { compute.embed(tokens); });
    for (std::size_t i = 0; i < a.kinds.size(); ++i) {
      const std::int64_t layers = layers_of(a.kinds[i], with_attention);
      const double ratio = static_cast<double>(a.kinds[i].count) / static_cast<double>(layers);
      add_segment(ratio, [&compute, i, layers, with_attention, pass = m_pass] {
        CudaCompute::Kind& kind = compute.kind(i);
        for (std::int64_t n = 0; n < layers; ++n)
          kind.take_layer().run(pass, kind.take_cache(), with_attention);
      });
    }
    add_segment(compute.head_scale(), [&compute, tokens] { compute.head(tokens); });
  }

protected:
  void set_up() override { m_compute.set_rope(m_pass.context, m_pass.tokens); }

private:
  [[nodiscard]] std::int64_t layers_of(const model::LayerKind& kind, bool with_attention) const {
    if (m_compute.options().full_depth) return kind.count;
    const model::Architecture& a = m_compute.architecture();
    const double flop =
        compute::dense_flop_per_token(kind, a.hidden) * static_cast<double>(m_pass.tokens) +
        (with_attention ? attention_flop(kind, m_pass.context, m_pass.tokens) : 0.0);
    const double bytes = 2 * compute::weight_elements(kind, a.hidden, kind.mlp.experts);
    const double estimate = std::max(m_compute.estimate_s(flop, bytes), 1e-9);
    return static_cast<std::int64_t>(
        std::clamp(std::floor(sample_s / static_cast<double>(a.kinds.size()) / estimate), 1.0,
                   static_cast<double>(kind.count)));
  }

  CudaCompute& m_compute;
  Pass m_pass;
};

/// Attention of one kind alone, whole layers, caches in turn.
class AttentionWorkload : public GraphWorkload {
public:
  AttentionWorkload(CudaCompute& compute, std::size_t index, std::int64_t context,
                    std::int64_t tokens)
      : GraphWorkload("attention/" + compute.architecture().kinds[index].name + "/" +
                          std::to_string(context) + "+" + std::to_string(tokens),
                      compute) {
    const model::LayerKind& spec = compute.architecture().kinds[index];
    const double cache_bytes = static_cast<double>(spec.attention.kv_elements_per_token()) * 2 *
                               static_cast<double>(context + tokens);
    const double estimate =
        std::max(compute.estimate_s(attention_flop(spec, context, tokens), cache_bytes), 1e-9);
    const auto layers = static_cast<std::int64_t>(
        std::clamp(std::floor(sample_s / 2 / estimate), 1.0, static_cast<double>(spec.count)));
    const double ratio = static_cast<double>(spec.count) / static_cast<double>(layers);
    add_segment(ratio, [&compute, index, layers, pass = Pass{context, tokens}] {
      CudaCompute::Kind& kind = compute.kind(index);
      for (std::int64_t n = 0; n < layers; ++n)
        kind.take_layer().mixer()->attend(pass, kind.take_cache());
    });
  }
};

} // namespace

std::unique_ptr<measure::Workload> make_dense_workload(CudaCompute& compute, std::int64_t tokens) {
  return std::make_unique<PassWorkload>(compute, 0, tokens, false);
}

std::unique_ptr<measure::Workload> make_step_workload(CudaCompute& compute, std::int64_t context,
                                                      std::int64_t tokens) {
  return std::make_unique<PassWorkload>(compute, context, tokens, true);
}

std::unique_ptr<measure::Workload> make_attention_workload(CudaCompute& compute, std::size_t kind,
                                                           std::int64_t context,
                                                           std::int64_t tokens) {
  return std::make_unique<AttentionWorkload>(compute, kind, context, tokens);
}

} // namespace breakeven::cuda
