#include "verify/session.hpp"

#include "calibrate/run.hpp"
#include "fit/fit.hpp"
#include "measure/sampler.hpp"
#include "support/text.hpp"
#include "support/units.hpp"
#include "verify/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven::verify {
namespace {

constexpr int rounds_after_first = 2;
constexpr double target_half_width = 0.015;
constexpr double whole_hit_weight = 4;
/// Short noisy runs would take the time of long ones for ever narrower intervals.
constexpr std::size_t most_samples = 30;

} // namespace

void Session::stop_here() const {
  if (m_tools.stop.stop_requested()) throw calibrate::Interrupted();
}

Chain::Part Session::step(std::int64_t context, std::int64_t new_tokens) {
  Chain::Part& part = m_steps[{context, new_tokens}];
  if (!part) part = m_tools.compute.step(context, new_tokens);
  return part;
}

std::vector<Chain::Part> Session::steps(std::int64_t context, std::int64_t new_tokens) {
  std::vector<Chain::Part> parts;
  while (new_tokens > 0) {
    const std::int64_t now = std::min(new_tokens, m_tools.file.model.chunk_tokens);
    parts.push_back(step(context, now));
    context += now;
    new_tokens -= now;
  }
  return parts;
}

std::size_t Session::make_hit(const Question& q) {
  const profile::Tier& row = m_tools.file.tiers[q.tier];
  tier::Tier& tier = *m_tools.tiers.at(q.tier);
  tier::LoadShape shape;
  shape.bytes = static_cast<std::uint64_t>(fit::kv_bytes(m_tools.file.model, q.cached));
  shape.pieces = std::max({static_cast<std::uint64_t>(fit::pieces(row.layout, q.cached)),
                           tier.min_pieces(shape.bytes), std::uint64_t{1}});
  Run run;
  run.chain = std::make_unique<Chain>(
      fmt::format("load {} of {} from {}", q.cached, q.prompt, printable(row.name)),
      tier.load(shape), steps(q.cached, q.prompt - q.cached));
  run.predicted_s = m_tools.forecast.hit_s(q);
  run.weight = q.whole() ? whole_hit_weight : 1;
  m_runs.push_back(std::move(run));
  return m_runs.size() - 1;
}

std::size_t Session::recompute_run(std::int64_t prompt) {
  const auto found = m_recompute.find(prompt);
  if (found != m_recompute.end()) return found->second;
  Run run;
  run.chain =
      std::make_unique<Chain>(fmt::format("recompute {}", prompt), nullptr, steps(0, prompt));
  run.predicted_s = m_tools.forecast.prefill_s(0, prompt);
  run.weight = whole_hit_weight; // every hit of that prompt is compared with it
  m_runs.push_back(std::move(run));
  return m_recompute[prompt] = m_runs.size() - 1;
}

void Session::run_ahead(Run& run, double expected_s) {
  // The first run of a shape may compile kernels for it: what it costs is seen in a second one.
  constexpr double surprising = 2, cheap_s = 1;
  for (int attempt = 0; attempt < 2; ++attempt) {
    stop_here();
    m_tools.progress.update(run.chain->name());
    const double start_s = m_tools.progress.elapsed_s();
    run.chain->run_ahead();
    run.cost_s = m_tools.progress.elapsed_s() - start_s;
    if (run.cost_s < surprising * expected_s || run.cost_s > cheap_s) break;
  }
  m_expected_s += expected_s;
  m_spent_s += run.cost_s;
}

double Session::round_s() const {
  double sum = 0;
  for (const Run& run : m_runs)
    sum += run.cost_s;
  return sum;
}

/// Wall time of running it once, by the file's times and by how far those were off so far.
double Session::expected_s(const Question& q) const {
  const CostModel cost{m_tools.forecast, m_tools.file};
  const double recompute_s = m_recompute.count(q.prompt) > 0 ? 0 : cost.prefill_s(0, q.prompt);
  const double ratio = m_expected_s > 0 ? std::max(1.0, m_spent_s / m_expected_s) : 1;
  return ratio * (cost.hit_s(q) + recompute_s);
}

std::vector<Question> Session::add(const std::vector<Question>& questions, double until_s,
                                   bool at_least_one) {
  const CostModel cost{m_tools.forecast, m_tools.file};
  std::vector<Question> dropped;
  std::map<std::size_t, bool> has_one;
  for (const Question& q : questions) {
    const bool first = at_least_one && !has_one[q.tier];
    const double once_s = expected_s(q);
    const double needed_s = first ? once_s : once_s + rounds_after_first * (once_s + round_s());
    if (m_tools.progress.elapsed_s() + needed_s > until_s) {
      dropped.push_back(q);
      continue;
    }
    has_one[q.tier] = true;
    const bool fresh = m_recompute.count(q.prompt) == 0;
    Entry entry{q, make_hit(q), recompute_run(q.prompt)};
    run_ahead(m_runs[entry.hit], cost.hit_s(q));
    if (fresh) run_ahead(m_runs[entry.recompute], cost.prefill_s(0, q.prompt));
    m_entries.push_back(entry);
  }
  return dropped;
}

void Session::sample(double until_s) {
  std::vector<Run*> runs;
  std::vector<measure::Workload*> workloads;
  measure::SamplerOptions options;
  options.target_relative_half_width = target_half_width;
  options.max_samples = most_samples;
  options.max_warmup_runs = 1; // they have run ahead
  options.max_seconds_total = std::max(0.0, until_s - m_tools.progress.elapsed_s());
  options.seed = ++m_round;
  for (Run& run : m_runs) {
    if (run.converged) continue;
    runs.push_back(&run);
    workloads.push_back(run.chain.get());
    options.importance.push_back(run.weight);
  }
  if (workloads.empty()) return;
  const std::vector<measure::Series> found = measure::sample_interleaved(
      workloads, options, m_tools.stop,
      [&](const std::string& name, double) { m_tools.progress.update(name); });
  stop_here();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<double>& samples = runs[i]->samples_s;
    samples.insert(samples.end(), found[i].seconds.begin(), found[i].seconds.end());
    runs[i]->converged = found[i].stopped == measure::StopReason::converged;
  }
}

double Session::noise() const {
  std::vector<const std::vector<double>*> runs;
  for (const Run& run : m_runs)
    runs.push_back(&run.samples_s);
  return usual_noise(runs);
}

Timing Session::timing(const Run& run, double noise) const {
  return {run.predicted_s, interval_of(run.samples_s, noise), run.samples_s};
}

std::vector<Point> Session::points() const {
  const double usual = noise();
  std::vector<Point> points;
  for (const Entry& entry : m_entries) {
    Point point;
    point.question = entry.question;
    point.hit = timing(m_runs[entry.hit], usual);
    point.recompute = timing(m_runs[entry.recompute], usual);
    point.predicted_load_s = m_tools.forecast.load_s(entry.question.tier, entry.question.cached);
    point.measured_load_s = measure::median(m_runs[entry.hit].chain->load_seconds());
    point.predicted = m_tools.forecast.load_wins(entry.question) ? Winner::load : Winner::recompute;
    point.measured = faster(point.hit, point.recompute);
    point.decides_load = m_tools.forecast.decides_load(entry.question);
    points.push_back(std::move(point));
  }
  return points;
}

void Session::summarise(Report& report) const {
  std::vector<double> errors;
  for (const Run& run : m_runs)
    if (!run.samples_s.empty()) errors.push_back(std::fabs(timing(run, 0).error()));
  report.timings = errors.size();
  report.median_error = measure::median(errors);
  report.worst_error = errors.empty() ? 0 : *std::max_element(errors.begin(), errors.end());
}

} // namespace breakeven::verify
