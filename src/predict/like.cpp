#include "predict/like.hpp"

#include "fit/fit.hpp"
#include "measure/statistics.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace breakeven::predict {
namespace {

using profile::Measurement;

/// Counts work alone: all rates are 1.
Hardware counting_device() {
  Hardware device;
  device.name = "no device";
  for (const char* key : {"bf16", "fp8", "int8", "fp4", "fp32"})
    device.facts[key].value = 1;
  device.facts["memory_bandwidth"].value = 1e30; // computing always takes longer
  return device;
}

/// A predicted time with the relative interval of the measurement that it comes from.
Measurement scaled(const Measurement& m, double factor) {
  return {m.median_s * factor, m.lo_s * factor, m.hi_s * factor, 0, "predicted", {}};
}

/// Attention of one measured layer kind, at any shape.
class MeasuredAttention {
public:
  MeasuredAttention(const profile::AttentionGrid& grid, const Roofline& work, std::size_t kind,
                    std::int64_t chunk_tokens)
      : m_grid(&grid), m_work(&work), m_kind(kind), m_curve(alone(grid), chunk_tokens) {
    std::vector<double> lo, hi;
    for (const auto& row : grid.seconds)
      for (const Measurement& m : row)
        if (m.median_s > 0) {
          lo.push_back(m.lo_s / m.median_s);
          hi.push_back(m.hi_s / m.median_s);
        }
    m_lo = lo.empty() ? 1 : measure::median(lo);
    m_hi = hi.empty() ? 1 : measure::median(hi);
  }
  [[nodiscard]] const profile::AttentionGrid& grid() const { return *m_grid; }

  /// Time of `flops` at the rate measured at this shape.
  [[nodiscard]] Measurement time_of(double flops, std::int64_t context,
                                    std::int64_t new_tokens) const {
    const double own = m_work->attention_flops(m_kind, context, new_tokens);
    const double seconds = own > 0 ? m_curve.step_s(context, new_tokens) * flops / own : 0;
    return {seconds, seconds * m_lo, seconds * m_hi, 0, "predicted", {}};
  }

private:
  static profile::Prefill alone(const profile::AttentionGrid& grid) {
    profile::Prefill prefill;
    prefill.dense.new_tokens = {1};
    prefill.dense.seconds = {Measurement{}};
    prefill.attention = {grid};
    return prefill;
  }
  const profile::AttentionGrid* m_grid;
  const Roofline* m_work;
  std::size_t m_kind;
  fit::PrefillCurve m_curve;
  double m_lo = 1, m_hi = 1;
};

class Transfer {
public:
  Transfer(const profile::BreakEvenFile& measured, const Request& request,
           const std::string& measured_model)
      : m_measured(measured), m_has_node(!request.node.empty()),
        m_device(m_has_node ? parse_node(request.node).device : counting_device()),
        m_from(read_measured_model(measured_model)), m_to(read_target(request)),
        m_from_work(m_from, m_device, {1, 1, 1}), m_to_work(m_to, m_device, {1, 1, 1}) {
    m_argv = request.argv;
  }

  profile::BreakEvenFile run() {
    profile::BreakEvenFile file = m_measured;
    file.status = "predicted";
    file.tool = describe_tool(m_argv);
    file.node.fingerprint = "predicted";
    const std::int64_t stored =
        m_measured.tiers.empty() ? 256 : m_measured.tiers.front().layout.chunk_tokens;
    file.model =
        describe_model(m_to, m_measured.model.chunk_tokens, m_measured.model.block_tokens, stored);
    file.warnings = {
        {"predicted", fmt::format("nothing of {} was measured: the utilisation that {} "
                                  "reached on this node is kept at each size",
                                  m_to.name, m_from.name)}};
    add_notes(file);
    scale_prefill(file.prefill);
    for (profile::Tier& tier : file.tiers) {
      tier.sweep.clear();
      tier.identity["load_model"] = "measured with " + m_from.name;
    }
    fit::solve(file, {});
    return file;
  }

private:
  model::Architecture read_measured_model(const std::string& given) const {
    model::ReadOptions options;
    options.tensor_parallel = m_measured.model.tensor_parallel;
    options.kv_dtype = m_measured.model.kv_dtype;
    if (!given.empty()) return model::read_architecture(given, options);
    try {
      return model::read_architecture(m_measured.model.name, options);
    } catch (const error&) {
      std::error_code ignored;
      if (std::filesystem::exists(m_measured.model.source, ignored))
        return model::read_architecture(m_measured.model.source, options);
    }
    throw error(error_kind::usage, "the measured model '" + printable(m_measured.model.name) +
                                       "' is not bundled: give its config.json with --like-model");
  }

  model::Architecture read_target(const Request& request) const {
    model::ReadOptions options = request.model_options;
    if (options.tensor_parallel == 0) options.tensor_parallel = m_measured.model.tensor_parallel;
    return model::read_architecture(request.model, options);
  }

  void add_notes(profile::BreakEvenFile& file) const {
    const auto note = [&](const std::string& text) {
      file.warnings.push_back({"predicted", text});
    };
    const bool experts = std::any_of(m_to.kinds.begin(), m_to.kinds.end(), has_experts) ||
                         std::any_of(m_from.kinds.begin(), m_from.kinds.end(), has_experts);
    if (!m_has_node && (experts || m_from.weight_dtype != m_to.weight_dtype))
      note("the two models differ in weight type or experts, which FLOP alone do not tell: give "
           "--node for the rates of the device");
    if (m_from.tensor_parallel != m_to.tensor_parallel)
      note("the tensor-parallel degrees differ: communication between ranks is not modelled");
    double error_sum = 0;
    for (const profile::StepCheck& check : m_measured.prefill.step_checks)
      error_sum += check.relative_error;
    if (const auto count = static_cast<double>(m_measured.prefill.step_checks.size()); count > 0)
      if (const double mean = error_sum / count; std::abs(mean) >= 0.0005)
        note(fmt::format("whole steps of {} differ by {:+.1f} % from the sum of their parts; that "
                         "error carries over",
                         m_from.name, 100 * mean));
  }
  static bool has_experts(const model::LayerKind& kind) { return kind.mlp.experts > 0; }

  void scale_prefill(profile::Prefill& prefill) const {
    prefill.device_name += " (predicted)";
    prefill.kernel_source =
        "utilisation of " + m_from.name + ", measured: " + prefill.kernel_source;
    prefill.regime = "predicted";
    for (std::size_t i = 0; i < prefill.dense.seconds.size(); ++i) {
      const std::int64_t n = prefill.dense.new_tokens[i];
      const double factor = m_to_work.dense_s(n) / m_from_work.dense_s(n);
      prefill.dense.seconds[i] = scaled(prefill.dense.seconds[i], factor);
    }
    prefill.step_checks.clear();
    prefill.attention.clear();
    for (std::size_t kind = 0; kind < m_to.kinds.size(); ++kind)
      if (m_to_work.has_attention(kind)) prefill.attention.push_back(grid_of(kind));
  }

  /// The measured grid of the kind most like it, at the shapes where either bends.
  profile::AttentionGrid grid_of(std::size_t kind) const {
    const MeasuredAttention source = nearest(m_to.kinds[kind].attention.kind);
    profile::AttentionGrid grid{
        m_to.kinds[kind].name, source.grid().context_tokens, source.grid().new_tokens, {}};
    const std::int64_t window = m_to.kinds[kind].attention.window_tokens;
    if (window > 0 && window < grid.context_tokens.back()) grid.context_tokens.push_back(window);
    std::sort(grid.context_tokens.begin(), grid.context_tokens.end());
    grid.context_tokens.erase(std::unique(grid.context_tokens.begin(), grid.context_tokens.end()),
                              grid.context_tokens.end());
    for (const std::int64_t c : grid.context_tokens) {
      grid.seconds.emplace_back();
      for (const std::int64_t n : grid.new_tokens)
        grid.seconds.back().push_back(source.time_of(m_to_work.attention_flops(kind, c, n), c, n));
    }
    return grid;
  }

  MeasuredAttention nearest(model::AttentionKind wanted) const {
    const profile::AttentionGrid* best = nullptr;
    std::size_t best_kind = 0;
    for (const profile::AttentionGrid& grid : m_measured.prefill.attention)
      for (std::size_t i = 0; i < m_from.kinds.size(); ++i) {
        if (m_from.kinds[i].name != grid.layer_kind) continue;
        const bool better = best == nullptr || (m_from.kinds[i].attention.kind == wanted &&
                                                m_from.kinds[best_kind].attention.kind != wanted);
        if (!better) continue;
        best = &grid;
        best_kind = i;
      }
    if (best == nullptr)
      throw error(error_kind::bad_input, "the measured file has no attention of a layer kind of " +
                                             m_from.name +
                                             ": give the measured model with --like-model");
    return MeasuredAttention(*best, m_from_work, best_kind, m_measured.model.chunk_tokens);
  }

  const profile::BreakEvenFile& m_measured;
  bool m_has_node;
  Hardware m_device;
  model::Architecture m_from, m_to;
  Roofline m_from_work, m_to_work;
  std::vector<std::string> m_argv;
};

} // namespace

profile::BreakEvenFile predict_like(const profile::BreakEvenFile& measured, const Request& request,
                                    const std::string& measured_model) {
  if (measured.status == "predicted")
    throw error(error_kind::usage, "--like needs a measured file; this one is predicted itself");
  return Transfer(measured, request, measured_model).run();
}

} // namespace breakeven::predict
