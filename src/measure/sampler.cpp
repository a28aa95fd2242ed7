#include "measure/sampler.hpp"

#include "measure/sampler_task.hpp"
#include "support/error.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace breakeven::measure {

const char* to_string(StopReason reason) {
  switch (reason) {
  case StopReason::converged:
    return "converged";
  case StopReason::sample_cap:
    return "sample_cap";
  case StopReason::time_cap:
    return "time_cap";
  case StopReason::interrupted:
    return "interrupted";
  }
  return "unknown";
}

namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void require(bool condition, const char* sentence) {
  if (!condition) throw error(error_kind::usage, sentence);
}

SamplerOptions checked(SamplerOptions options, std::size_t workloads) {
  require(options.target_relative_half_width > 0, "the sampling precision must be above 0");
  require(options.confidence > 0 && options.confidence < 1,
          "the confidence must lie between 0 and 1");
  require(options.min_samples >= 1 && options.max_samples >= options.min_samples,
          "the sample caps must be at least 1, and the largest not below the smallest");
  require(options.max_seconds_each >= 0 && options.max_seconds_total >= 0,
          "the sampling time caps must not be negative");
  require(options.importance.empty() || options.importance.size() == workloads,
          "there must be one sampling importance per workload, or none");
  require(options.continued.empty() || options.continued.size() == workloads,
          "there must be one earlier series per workload to go on from, or none");
  for (const double weight : options.importance)
    require(std::isfinite(weight) && weight > 0, "a sampling importance must be above 0");
  if (!options.clock) options.clock = steady_seconds;
  return options;
}

/// The run as a whole: which task is run next, and when to end.
class Session {
public:
  Session(std::span<Workload* const> workloads, const SamplerOptions& options, std::stop_token stop,
          const Progress& progress)
      : m_options(checked(options, workloads.size())), m_stop(std::move(stop)),
        m_progress(progress), m_random(options.seed), m_start_s(m_options.clock()) {
    m_tasks.reserve(workloads.size());
    for (std::size_t i = 0; i < workloads.size(); ++i)
      m_tasks.emplace_back(*workloads[i], m_options,
                           m_options.importance.empty() ? 1 : m_options.importance[i],
                           [this] { return left_s(); });
    for (std::size_t i = 0; i < m_options.continued.size(); ++i)
      m_tasks[i].go_on_from(m_options.continued[i]);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::vector<Series> run() {
    first_runs();
    warm_up();
    while (!m_stop.stop_requested()) {
      std::vector<SamplerTask*> round = next_round();
      if (round.empty()) break;
      for (SamplerTask* task : round) {
        task->update(); // time has passed since the round was planned
        if (task->finished()) continue;
        task->sample();
        task->update();
        if (!report(*task)) break;
      }
    }
    std::vector<Series> result;
    result.reserve(m_tasks.size());
    for (SamplerTask& task : m_tasks) {
      if (m_stop.stop_requested()) task.stop(StopReason::interrupted);
      result.push_back(task.finish());
    }
    return result;
  }

private:
  double left_s() const { return m_options.max_seconds_total - (m_options.clock() - m_start_s); }

  /// False when a stop was requested.
  bool report(const SamplerTask& task) {
    if (m_progress) m_progress(task.name(), m_options.clock() - m_start_s);
    return !m_stop.stop_requested();
  }

  std::vector<SamplerTask*> shuffled(std::vector<SamplerTask*> tasks) {
    for (std::size_t i = tasks.size(); i > 1; --i)
      std::swap(tasks[i - 1], tasks[m_random.below(i)]);
    return tasks;
  }

  std::vector<SamplerTask*> without_samples() {
    std::vector<SamplerTask*> tasks;
    for (SamplerTask& task : m_tasks)
      if (task.samples() == 0) tasks.push_back(&task);
    return tasks;
  }

  std::vector<SamplerTask*> unfinished() {
    std::vector<SamplerTask*> tasks;
    for (SamplerTask& task : m_tasks)
      if (!task.finished()) tasks.push_back(&task);
    return tasks;
  }

  /// One run of everything, whatever the caps: it tells what each costs, and is the sample of last
  /// resort for a workload that cannot be run again in time.
  void first_runs() {
    for (SamplerTask* task : shuffled(without_samples())) {
      if (m_stop.stop_requested()) return;
      task->warm_up();
      if (!report(*task)) return;
    }
  }

  /// Warms up in turn, each until stable, on at most a quarter of an even share of the time left:
  /// a run that is long by itself warms the machine well enough the first time.
  void warm_up() {
    const double share_s =
        std::max(0.0, left_s()) / 4 / static_cast<double>(std::max<std::size_t>(1, m_tasks.size()));
    for (SamplerTask* task : shuffled(unfinished())) {
      const double allowed_s = std::min(share_s, m_options.max_seconds_each / 4);
      double spent_s = 0;
      while (!task->warm() && spent_s + task->next_run_s() <= allowed_s) {
        if (m_stop.stop_requested()) return;
        spent_s += task->warm_up();
        if (!report(*task)) return;
      }
    }
  }

  double typical_noise() const {
    std::vector<double> known;
    for (const SamplerTask& task : m_tasks)
      if (task.samples() >= m_options.min_samples) known.push_back(task.expected_noise(0));
    return known.empty() ? 0.05 : median(known);
  }

  /// Everybody while the time suffices, else those that gain most per second; in random order.
  std::vector<SamplerTask*> next_round() {
    for (SamplerTask& task : m_tasks)
      task.update();
    const std::vector<SamplerTask*> active = unfinished();
    const double noise = typical_noise();
    double needed_s = 0, best = 0;
    for (const SamplerTask* task : active) {
      needed_s += task->missing_samples(noise) * task->next_run_s();
      best = std::max(best, task->value_per_second(noise));
    }
    if (needed_s <= left_s()) return shuffled(active);
    std::vector<SamplerTask*> chosen;
    for (SamplerTask* task : active)
      if (task->value_per_second(noise) >= best / 2) chosen.push_back(task);
    return shuffled(chosen);
  }

  SamplerOptions m_options;
  std::stop_token m_stop;
  const Progress& m_progress;
  Random m_random;
  double m_start_s;
  std::vector<SamplerTask> m_tasks;
};

} // namespace

std::vector<Series> sample_interleaved(std::span<Workload* const> workloads,
                                       const SamplerOptions& options, std::stop_token stop,
                                       const Progress& progress) {
  if (workloads.empty()) return {};
  return Session(workloads, options, std::move(stop), progress).run();
}

} // namespace breakeven::measure
