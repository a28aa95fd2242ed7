#pragma once

#include "measure/sampler.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace breakeven::measure {

/// One workload being sampled: its runs, its cost and its reasons to stop. Internal to the sampler.
class SamplerTask {
public:
  SamplerTask(Workload& workload, const SamplerOptions& options, double importance,
              std::function<double()> total_left_s);

  /// Takes over the samples of an earlier call; with any, the task counts as warm.
  void go_on_from(const Series& earlier);

  /// Both return the wall time of the run by options.clock.
  double warm_up();
  double sample();

  [[nodiscard]] bool warm() const; ///< two warm-up runs in a row agreed, or the cap is reached
  [[nodiscard]] bool finished() const { return m_stopped.has_value(); }
  [[nodiscard]] double next_run_s() const { return m_last_cost_s; }
  [[nodiscard]] double spent_s() const { return m_spent_s; }
  [[nodiscard]] std::size_t samples() const { return m_series.seconds.size(); }
  [[nodiscard]] const std::string& name() const { return m_series.name; }

  /// Asks the criteria; a finished task stays finished.
  void update();
  void stop(StopReason reason);

  /// Relative standard deviation expected of a sample; `typical` stands in while there are few.
  [[nodiscard]] double expected_noise(double typical) const;
  /// Further runs needed to reach the target, with that noise.
  [[nodiscard]] double missing_samples(double typical_noise) const;
  /// How much one more second here narrows the results: falls with samples and with cost.
  [[nodiscard]] double value_per_second(double typical_noise) const;

  /// The series with its verdicts filled in; the task is used up.
  Series finish();

private:
  Observation run();

  Workload* m_workload;
  const SamplerOptions* m_options;
  double m_importance;
  std::vector<std::unique_ptr<StoppingCriterion>> m_criteria;
  Series m_series;
  std::optional<StopReason> m_stopped;
  double m_spent_s = 0;
  double m_last_cost_s = 0;
  std::optional<Observation> m_previous_warmup;
  std::optional<double> m_spare_s;           ///< last unthrottled warm-up run, scaled
  std::optional<double> m_spare_throttled_s; ///< last throttled run of any sort, scaled
  bool m_warm = false;
};

} // namespace breakeven::measure
