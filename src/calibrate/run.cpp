#include "calibrate/run.hpp"

#include "calibrate/catalogue.hpp"
#include "calibrate/other_load.hpp"
#include "calibrate/prefill_part.hpp"
#include "calibrate/provenance.hpp"
#include "calibrate/tier_part.hpp"
#include "fit/fit.hpp"
#include "support/error.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven::calibrate {
namespace {

/// Share of the sampling time spent evenly, before it goes where break-even lengths are decided.
constexpr double even_share = 0.6;
/// Kept back for fitting, writing and cleaning up.
constexpr double reserve_s = 1.0;
constexpr double bad_step_error = 0.1;

class Calibration {
public:
  Calibration(const Plan& plan, Progress& progress, std::stop_token stop)
      : m_plan(plan), m_progress(progress), m_stop(std::move(stop)) {}

  profile::BreakEvenFile run() {
    build();
    m_progress.stage(fmt::format("measuring {} things in random order", m_catalogue.size()));
    const CpuTimes before = cpu_times();
    sample(even_share * time_left_s(), [&](Catalogue::Id id) { return informs(id) ? 0.25 : 1.0; });
    refine();
    contend();
    profile::BreakEvenFile file = assemble();
    add_warnings(file);
    if (const std::string busy = other_load(before, cpu_times()); !busy.empty())
      file.warnings.push_back({"busy", busy});
    file.tool.duration_s = m_progress.elapsed_s();
    return file;
  }

private:
  void build() {
    m_progress.stage("building " + m_plan.architecture.name + " on " + m_plan.device);
    compute::ComputeOptions options;
    options.threads = m_plan.request.threads;
    options.max_context_tokens = m_plan.max_prefix_tokens;
    options.chunk_tokens = m_plan.request.chunk_tokens;
    options.memory_limit_bytes = m_plan.compute_memory_bytes;
    m_compute = compute::create(m_plan.device, m_plan.architecture, options);
    refuse_if_too_slow();
    compute::DeviceBuffer& device = m_compute->kv_buffer(m_plan.kv_buffer_bytes);
    m_prefill = std::make_unique<PrefillPart>(m_plan, *m_compute, m_catalogue);
    for (const TierPlan& tier : m_plan.tiers) {
      stop_here();
      m_progress.stage("preparing " + tier.spec.text);
      m_tiers.emplace_back(m_plan, tier, device);
      m_tiers.back().add_loads(m_plan, m_catalogue);
    }
  }

  /// Each measurement is made once at least. Where that alone overruns the budget (a large model on
  /// a small machine), a run of many times the budget would be worse than a sentence now.
  void refuse_if_too_slow() {
    const std::int64_t probe = m_plan.dense_new[m_plan.dense_new.size() / 2];
    double tokens = 0;
    for (const std::int64_t n : m_plan.dense_new)
      tokens += static_cast<double>(n);
    for (const GridPoint& point : m_plan.step_checks)
      tokens += static_cast<double>(point.new_tokens);
    // A sample runs one layer of each kind at least.
    const auto shortest_share = static_cast<double>(m_plan.architecture.kinds.size()) /
                                static_cast<double>(m_plan.architecture.layers);
    const double model_s = m_compute->dense(probe)->run().seconds;
    const double needed_s = model_s * shortest_share * tokens / static_cast<double>(probe);
    if (needed_s <= time_left_s()) return;
    throw error(
        error_kind::environment,
        fmt::format(
            "{} is too large for this machine and budget: measuring every step once takes about "
            "{}, "
            "and {} are left; use --budget {:.0f}m, a smaller --chunk-tokens or a smaller model",
            m_plan.architecture.name, format_seconds(needed_s),
            format_seconds(std::max(time_left_s(), 0.0)), std::ceil(3 * needed_s / 60 + 1)));
  }

  /// A second round for what the answers hang on and is not precise yet.
  void refine() {
    const profile::BreakEvenFile so_far = assemble();
    m_progress.stage("measuring more where the break-even lengths are decided");
    sample(time_left_s() - contention_s(), [&](Catalogue::Id id) {
      if (m_catalogue.series(id).stopped == measure::StopReason::converged) return 0.0;
      if (informs(id)) return 0.25;
      return decides(so_far, id) ? 4.0 : 1.0;
    });
  }

  bool informs(Catalogue::Id id) const {
    return std::any_of(m_tiers.begin(), m_tiers.end(),
                       [&](const TierPart& tier) { return tier.informs(id); });
  }

  /// Seconds for all tiers together.
  [[nodiscard]] double contention_s() const {
    constexpr double share = 0.02, most_s = 1.5;
    return std::min(share * m_plan.request.budget_s, most_s) * static_cast<double>(m_tiers.size());
  }

  /// Loads while prefill runs, with the largest step that runs several times in the time there is.
  void contend() {
    m_progress.stage("measuring loads while prefill runs");
    const double each_s = contention_s() / static_cast<double>(m_tiers.size());
    const fit::PrefillCurve curve(m_prefill->result(m_plan, m_catalogue),
                                  m_plan.request.chunk_tokens);
    std::int64_t new_tokens = m_plan.dense_new.front();
    for (const std::int64_t n : m_plan.dense_new)
      if (curve.step_s(0, n) < each_s / 8) new_tokens = n;
    for (TierPart& tier : m_tiers) {
      stop_here();
      tier.contend(m_plan, *m_compute, new_tokens, each_s, m_stop);
    }
    stop_here();
  }

  bool decides(const profile::BreakEvenFile& file, Catalogue::Id id) const {
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
      const profile::BreakEven& answer = file.tiers[i].break_even;
      const std::int64_t tokens =
          std::max({answer.tokens, answer.lo_tokens, m_plan.lengths.front()});
      if (answer.verdict == profile::Verdict::uncalibrated) continue;
      if (m_tiers[i].decides(id, fit::kv_bytes(file.model, tokens)) ||
          m_prefill->decides(id, tokens))
        return true;
    }
    return false;
  }

  profile::BreakEvenFile assemble() const {
    profile::BreakEvenFile file;
    file.status = "measured";
    file.tool = describe_tool(m_plan);
    file.node = describe_node(m_plan.node);
    file.model = describe_model(m_plan);
    file.prefill = m_prefill->result(m_plan, m_catalogue);
    for (const TierPart& tier : m_tiers)
      file.tiers.push_back(tier.result(m_catalogue));
    file.calibrated_lengths = m_plan.lengths;
    fit::solve(file, {});
    return file;
  }

  void add_warnings(profile::BreakEvenFile& file) const {
    file.warnings = m_plan.warnings;
    for (const std::string& sentence : m_compute->warnings())
      file.warnings.push_back({"compute", sentence});
    for (const TierPart& tier : m_tiers)
      for (const std::string& sentence : tier.warnings(m_catalogue))
        file.warnings.push_back({"tier", sentence});
    for (const profile::StepCheck& check : file.prefill.step_checks)
      if (std::fabs(check.relative_error) > bad_step_error)
        file.warnings.push_back(
            {"step_check",
             fmt::format(
                 "a whole step of {} tokens over {} differs by {:+.0f} % from the sum of its "
                 "parts: recompute times carry that error",
                 check.new_tokens, check.context_tokens, 100 * check.relative_error)});
    std::size_t noisy = 0, throttled = 0;
    for (Catalogue::Id id = 0; id < m_catalogue.size(); ++id) {
      noisy += m_catalogue.series(id).too_noisy ? 1 : 0;
      throttled += m_catalogue.series(id).discarded_throttled;
    }
    if (noisy > 0)
      file.warnings.push_back(
          {"noise", fmt::format("{} of {} measurements are too noisy for the target precision: "
                                "something else runs on this machine",
                                noisy, m_catalogue.size())});
    if (throttled > 0)
      file.warnings.push_back(
          {"throttled",
           fmt::format("{} samples were discarded because the device was throttled", throttled)});
  }

  void sample(double seconds, const std::function<double(Catalogue::Id)>& importance) {
    stop_here();
    m_catalogue.sample(std::max(seconds, 0.0), importance, m_stop,
                       [&](const std::string& name, double) { m_progress.update(name); });
    stop_here();
  }

  [[nodiscard]] double time_left_s() const {
    return m_plan.request.budget_s - reserve_s - m_progress.elapsed_s();
  }
  void stop_here() const {
    if (m_stop.stop_requested()) throw Interrupted();
  }

  const Plan& m_plan;
  Progress& m_progress;
  std::stop_token m_stop;
  std::unique_ptr<compute::Compute> m_compute;
  std::unique_ptr<PrefillPart> m_prefill;
  std::vector<TierPart> m_tiers;
  Catalogue m_catalogue; ///< last: workloads borrow the compute and the tiers
};

} // namespace

profile::BreakEvenFile run(const Plan& plan, Progress& progress, std::stop_token stop) {
  return Calibration(plan, progress, std::move(stop)).run();
}

} // namespace breakeven::calibrate
