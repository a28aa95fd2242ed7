#include "fit/fit.hpp"
#include "measure/statistics.hpp"
#include "predict/import.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::predict {
namespace {

/// Stands for the node of an import that names none: work is counted, not timed.
NodeSpec unknown_node() {
  NodeSpec node;
  node.device.name = node.device.title = "unknown device";
  node.device.kind = "accelerator";
  for (const char* key : {"bf16", "fp8", "int8", "fp4", "fp32", "memory_bandwidth"})
    node.device.facts[key].value = 1;
  return node;
}

profile::Measurement measured(std::vector<double> seconds, double less_s) {
  for (double& each : seconds)
    each = std::max(0.0, each - less_s);
  profile::Measurement m;
  const measure::MedianInterval interval = measure::median_interval(seconds);
  m.median_s = interval.median;
  m.lo_s = std::min(interval.lo, interval.median);
  m.hi_s = std::max(interval.hi, interval.median);
  m.count = static_cast<std::int64_t>(seconds.size());
  m.samples_s = std::move(seconds);
  m.stopped = "imported";
  return m;
}

profile::Measurement fitted(double seconds) {
  return {seconds, seconds, seconds, 0, "imported", {}};
}

class Importer {
public:
  Importer(Import import, Request request) : m_import(std::move(import)) {
    const bool known = !request.node.empty();
    if (request.chunk_tokens == 0)
      request.chunk_tokens = m_import.chunk_tokens > 0 ? m_import.chunk_tokens : 2048;
    m_has_node = known;
    const bool no_tiers = request.tiers.empty();
    if (no_tiers) request.tiers = {"unused=1GB/s"};
    m_inputs = known ? resolve(request) : resolve_on(request, unknown_node());
    if (no_tiers) m_inputs.tiers.clear();
    m_inputs.warnings.clear();
  }

  profile::BreakEvenFile run() {
    m_file.status = "imported";
    m_file.tool = describe_tool(m_inputs.request.argv);
    m_file.node.cpu_model = "not measured";
    m_file.node.fingerprint = "imported";
    m_layout = default_layout(m_inputs.request.block_tokens);
    m_file.model = describe_model(m_inputs.model, m_inputs.request.chunk_tokens,
                                  m_inputs.request.block_tokens, m_layout.chunk_tokens);
    m_file.warnings = m_import.warnings;
    m_file.calibrated_lengths = answer_lengths(m_inputs.request.max_prefix_tokens);
    check_model();
    add_prefill();
    add_tiers();
    solve();
    return std::move(m_file);
  }

private:
  void warn(const std::string& message) { m_file.warnings.push_back({"import", message}); }

  void check_model() {
    if (!m_import.model.empty())
      warn("the imported file is of '" + m_import.model + "'; it is taken as " + m_file.model.name);
    const std::int64_t bytes = fit::kv_bytes(m_file.model, 1) * m_file.model.tensor_parallel;
    if (m_import.kv_bytes_per_token > 0 && m_import.kv_bytes_per_token != bytes)
      warn(fmt::format("the imported file counts {} of KV cache per token, {} has {}: check the "
                       "model and --kv-dtype",
                       format_bytes(static_cast<double>(m_import.kv_bytes_per_token)),
                       m_file.model.name, format_bytes(static_cast<double>(bytes))));
  }

  /// Leaves out what no device of this kind can compute.
  void drop_impossible(const Roofline& roofline) {
    std::erase_if(m_import.prefill, [&](const PrefillSamples& each) {
      const double seconds = measure::median(each.seconds);
      const double least_s = roofline.least_s(each.context_tokens, each.new_tokens);
      if (seconds >= least_s) return false;
      m_file.warnings.push_back(
          {"above_roofline",
           fmt::format(
               "{} new tokens after {} in {}: the published peaks of {} need {} at least, so "
               "a prefix cache probably answered; left out",
               format_tokens(each.new_tokens), format_tokens(each.context_tokens),
               format_seconds(seconds), m_inputs.node.device.name, format_seconds(least_s))});
      return true;
    });
    if (m_import.prefill.empty())
      throw error(error_kind::bad_input,
                  "every imported time is below what the published peaks of " +
                      printable(m_inputs.node.device.name) +
                      " allow: turn the engine's prefix cache off, or check --model and --node");
  }

  void add_prefill() {
    if (m_import.prefill.empty()) {
      if (!m_has_node)
        throw error(error_kind::usage,
                    "the file has thresholds but no prefill curve: give --node and --utilisation, "
                    "from which the curve is predicted, and --tier NAME=RATE for each tier");
      m_file.prefill = predicted_prefill(m_inputs);
      warn("the file has no prefill curve: it is predicted from the published peaks of " +
           m_inputs.node.device.name);
      return;
    }
    const Roofline work = m_inputs.roofline();
    if (m_has_node)
      drop_impossible(work);
    else
      warn("no --node was given: the times were not checked against a device's roofline");
    const std::int64_t chunk = m_inputs.request.chunk_tokens;
    const PrefillFit fit = fit_prefill(m_import.prefill, work, chunk);
    warn(fmt::format("a cost model through {} shapes misses them by {:.2g} % (median) to {:.2g} %",
                     m_import.prefill.size(), 100 * fit.median_error, 100 * fit.worst_error));
    build_curve(work, fit);
  }

  void build_curve(const Roofline& work, const PrefillFit& fit) {
    profile::Prefill& prefill = m_file.prefill;
    const std::int64_t chunk = m_inputs.request.chunk_tokens;
    prefill.device = "imported";
    prefill.device_name = m_import.device.empty() ? m_inputs.node.device.title : m_import.device;
    prefill.device_name += " (imported)";
    prefill.kernel_source = "imported from " + m_import.format;
    prefill.compute_dtype = model::to_string(m_inputs.model.weight_dtype);
    prefill.regime = "imported";
    std::map<std::int64_t, profile::Measurement> dense;
    for (const std::int64_t n : {std::int64_t{1}, chunk})
      dense[n] = fitted(fit.step_s + fit.linear_s * work.linear_flops(static_cast<double>(n)));
    std::int64_t longest = 0;
    for (const PrefillSamples& each : m_import.prefill) {
      longest = std::max(longest, each.context_tokens + each.new_tokens);
      if (each.context_tokens == 0 && each.new_tokens <= chunk)
        dense[each.new_tokens] =
            measured(each.seconds, fit.attention_s * work.attention_flops(0, each.new_tokens));
    }
    for (const auto& [n, seconds] : dense) {
      prefill.dense.new_tokens.push_back(n);
      prefill.dense.seconds.push_back(seconds);
    }
    const auto contexts = context_axis(m_inputs.model, m_inputs.request.max_prefix_tokens);
    for (std::size_t kind = 0; kind < m_inputs.model.kinds.size(); ++kind) {
      if (!work.has_attention(kind)) continue;
      profile::AttentionGrid grid{m_inputs.model.kinds[kind].name, contexts, step_axis(chunk), {}};
      for (const std::int64_t c : contexts) {
        grid.seconds.emplace_back();
        for (const std::int64_t n : grid.new_tokens)
          grid.seconds.back().push_back(fitted(fit.attention_s * work.attention_flops(kind, c, n)));
      }
      prefill.attention.push_back(std::move(grid));
    }
    check_steps();
    if (longest < m_inputs.request.max_prefix_tokens / 2)
      warn(fmt::format("the longest imported prompt has {} tokens: longer ones are extrapolated",
                       format_tokens(longest)));
  }

  void check_steps() {
    const fit::PrefillCurve curve(m_file.prefill, m_file.model.chunk_tokens);
    for (const PrefillSamples& each : m_import.prefill) {
      if (each.new_tokens > m_file.model.chunk_tokens) continue;
      profile::StepCheck check;
      check.context_tokens = each.context_tokens;
      check.new_tokens = each.new_tokens;
      check.measured = measured(each.seconds, 0);
      check.predicted_s = curve.step_s(each.context_tokens, each.new_tokens);
      check.relative_error = check.predicted_s / check.measured.median_s - 1;
      m_file.prefill.step_checks.push_back(std::move(check));
    }
  }

  void add_tiers() {
    for (const TierRate& rate : m_inputs.tiers)
      if (m_import.loads.count(rate.name) == 0) add_rate_tier(rate);
    for (const auto& [name, points] : m_import.loads)
      add_curve_tier(name, points);
    for (const auto& [name, tokens] : m_import.thresholds)
      if (std::none_of(m_file.tiers.begin(), m_file.tiers.end(),
                       [&, &wanted = name](const profile::Tier& t) { return t.name == wanted; }))
        add_bare_threshold(name, tokens);
  }

  void add_rate_tier(const TierRate& rate) {
    const double rate_Bps = reachable_Bps(m_inputs, rate, m_file.warnings);
    double fixed_s = rate.fixed_s >= 0 ? rate.fixed_s : m_inputs.request.fixed_s;
    const auto threshold = m_import.thresholds.find(rate.name);
    const bool solve_fixed = threshold != m_import.thresholds.end() && threshold->second > 0;
    if (solve_fixed) fixed_s = fixed_cost_at(threshold->second, rate_Bps, rate.piece_s);
    profile::Tier tier = make_tier(rate, rate_Bps, std::max(0.0, fixed_s), m_layout);
    if (solve_fixed) {
      m_threshold_tiers.push_back(rate.name);
      tier.identity["imported_break_even_tokens"] = std::to_string(threshold->second);
      tier.identity["fixed_cost"] = "follows from the imported threshold and the given rate";
    }
    if (fixed_s < 0) {
      tier.load.reset();
      tier.status = "uncalibrated";
      tier.reason = fmt::format(
          "at {} alone, the {} tokens of the imported threshold take longer to load than to "
          "compute "
          "by {}: the rate or the utilisation is not that of the node that was measured",
          format_rate(rate_Bps), format_tokens(threshold->second), format_seconds(-fixed_s));
    }
    m_file.tiers.push_back(std::move(tier));
  }

  /// What one load must cost besides its bytes for `tokens` to be the break-even length: a hair
  /// less than a tie.
  double fixed_cost_at(std::int64_t tokens, double rate_Bps, double piece_s) const {
    const fit::PrefillCurve curve(m_file.prefill, m_file.model.chunk_tokens);
    constexpr double hair_s = 1e-9;
    return curve.saved_s(0, tokens, tokens + 1) - hair_s -
           static_cast<double>(fit::kv_bytes(m_file.model, tokens)) / rate_Bps -
           piece_s * static_cast<double>(fit::pieces(m_layout, tokens));
  }

  void add_curve_tier(const std::string& name,
                      const std::vector<std::pair<std::int64_t, double>>& points) {
    profile::Tier tier;
    tier.name = tier.kind = name;
    tier.spec = name + " (imported)";
    tier.layout = m_layout;
    tier.identity["source"] = "load curve imported from " + m_import.format;
    for (const auto& [tokens, seconds] : points)
      if (tokens > 0 && seconds > 0)
        tier.sweep.push_back({fit::kv_bytes(m_file.model, tokens),
                              fit::pieces(m_layout, tokens),
                              1,
                              false,
                              {seconds, seconds, seconds, 0, "imported", {}}});
    fit::LoadModelOptions options;
    options.ceiling_Bps = m_has_node ? m_inputs.link_Bps() : 0;
    fit::fit_tier(tier, options);
    m_file.tiers.push_back(std::move(tier));
  }

  void add_bare_threshold(const std::string& name, std::int64_t tokens) {
    profile::Tier tier;
    tier.name = tier.kind = name;
    tier.spec = name + " (imported)";
    tier.layout = m_layout;
    tier.status = "uncalibrated";
    tier.identity["imported_break_even_tokens"] = std::to_string(tokens);
    tier.reason = fmt::format("only a threshold of {} tokens was imported: its load time follows "
                              "with --tier {}=RATE",
                              format_tokens(tokens), name);
    m_file.tiers.push_back(std::move(tier));
  }

  void solve() {
    const bool is_predicted = m_import.prefill.empty();
    if (!is_predicted) fit::solve(m_file, {});
    if (is_predicted) solve_range(m_file);
    pin_thresholds();
    for (const profile::Tier& tier : m_file.tiers) {
      const auto own = m_import.thresholds.find(tier.name);
      if (own == m_import.thresholds.end() || m_import.loads.count(tier.name) == 0) continue;
      warn(fmt::format("tier {}: the imported threshold is {} tokens; the imported curves, with a "
                       "prefix that is computed in steps, give {}",
                       tier.name, format_tokens(own->second),
                       tier.break_even.verdict == profile::Verdict::at
                           ? format_tokens(tier.break_even.tokens)
                           : std::string(to_string(tier.break_even.verdict))));
    }
  }

  /// A threshold was measured: the range of the prediction around it is not its interval.
  void pin_thresholds() {
    if (m_threshold_tiers.empty()) return;
    profile::BreakEvenFile exact = m_file;
    const auto collapse = [](profile::Measurement& m) { m.lo_s = m.hi_s = m.median_s; };
    for (profile::Measurement& m : exact.prefill.dense.seconds)
      collapse(m);
    for (profile::AttentionGrid& grid : exact.prefill.attention)
      for (auto& row : grid.seconds)
        for (profile::Measurement& m : row)
          collapse(m);
    solve_range(exact);
    for (std::size_t i = 0; i < m_file.tiers.size(); ++i)
      if (std::find(m_threshold_tiers.begin(), m_threshold_tiers.end(), m_file.tiers[i].name) !=
          m_threshold_tiers.end()) {
        m_file.tiers[i].break_even = exact.tiers[i].break_even;
        warn_if_missed(m_file.tiers[i]);
      }
  }

  void warn_if_missed(const profile::Tier& tier) {
    const std::int64_t wanted = m_import.thresholds.at(tier.name);
    if (!tier.load || tier.break_even.tokens == wanted) return;
    warn(
        fmt::format("tier {}: with steps of {} tokens loading wins from {} tokens on, not from the "
                    "imported {}: give the engine's --chunk-tokens",
                    tier.name, format_tokens(m_file.model.chunk_tokens),
                    format_tokens(tier.break_even.tokens), format_tokens(wanted)));
  }

  Import m_import;
  Inputs m_inputs;
  bool m_has_node = false;
  profile::Layout m_layout;
  profile::BreakEvenFile m_file;
  std::vector<std::string> m_threshold_tiers;
};

} // namespace

profile::BreakEvenFile import_file(Import import, Request request) {
  return Importer(std::move(import), std::move(request)).run();
}

void mark_published(profile::BreakEvenFile& file, const Published& published) {
  file.status = "published";
  file.node.fingerprint = "published";
  std::vector<profile::Warning> notes = {{"source", "published by others: " + published.source}};
  for (const std::string& each : published.measured)
    notes.push_back({"measured", "measured by them: " + each});
  for (const std::string& each : published.not_measured)
    notes.push_back({"not_measured", "not measured: " + each});
  file.warnings.insert(file.warnings.begin(), notes.begin(), notes.end());
}

} // namespace breakeven::predict
