#include "measure/sampler_task.hpp"

#include "measure/stop_at_sample_cap.hpp"
#include "measure/stop_at_time_cap.hpp"
#include "measure/stop_when_precise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace breakeven::measure {

namespace {

/// Samples of relative deviation `noise` for the target: the standard error of a median of n
/// normal values is 1.2533 s / sqrt(n).
double samples_for_target(double noise, const SamplerOptions& options) {
  const double ratio =
      normal_z(options.confidence) * 1.2533 * noise / options.target_relative_half_width;
  return std::max(static_cast<double>(options.min_samples), ratio * ratio);
}

} // namespace

SamplerTask::SamplerTask(Workload& workload, const SamplerOptions& options, double importance,
                         std::function<double()> total_left_s)
    : m_workload(&workload), m_options(&options), m_importance(importance) {
  m_series.name = workload.name();
  if (options.criteria)
    m_criteria = options.criteria();
  else
    m_criteria.push_back(std::make_unique<StopWhenPrecise>(
        options.target_relative_half_width, options.confidence, options.min_samples));
  m_criteria.push_back(std::make_unique<StopAtSampleCap>(options.max_samples));
  m_criteria.push_back(
      std::make_unique<StopAtTimeCap>(options.max_seconds_each, std::move(total_left_s)));
}

void SamplerTask::go_on_from(const Series& earlier) {
  m_series = earlier;
  m_series.name = m_workload->name();
  m_last_cost_s = earlier.last_run_s;
  m_warm = !earlier.seconds.empty();
}

Observation SamplerTask::run() {
  const double start = m_options->clock();
  Observation observation = m_workload->run();
  m_last_cost_s = m_options->clock() - start;
  m_spent_s += m_last_cost_s;
  observation.seconds *= m_workload->scale();
  if (observation.throttled) {
    ++m_series.discarded_throttled;
    m_spare_throttled_s = observation.seconds;
  }
  return observation;
}

double SamplerTask::warm_up() {
  const Observation observation = run();
  ++m_series.warmup_runs;
  if (!observation.throttled) m_spare_s = observation.seconds;
  if (m_previous_warmup && !observation.throttled && !m_previous_warmup->throttled) {
    const double larger = std::max(observation.seconds, m_previous_warmup->seconds);
    const double change = std::abs(observation.seconds - m_previous_warmup->seconds);
    m_warm = change <= m_options->warmup_tolerance * larger;
  }
  m_previous_warmup = observation;
  return m_last_cost_s;
}

double SamplerTask::sample() {
  const Observation observation = run();
  if (!observation.throttled) m_series.seconds.push_back(observation.seconds);
  return m_last_cost_s;
}

bool SamplerTask::warm() const {
  return m_warm || m_series.warmup_runs >= m_options->max_warmup_runs;
}

void SamplerTask::update() {
  if (m_stopped) return;
  const SamplingState state{m_series.seconds, m_series.discarded_throttled, m_spent_s,
                            m_last_cost_s};
  for (const auto& criterion : m_criteria)
    if (const auto reason = criterion->check(state)) {
      m_stopped = reason;
      return;
    }
}

void SamplerTask::stop(StopReason reason) {
  if (!m_stopped) m_stopped = reason;
}

double SamplerTask::expected_noise(double typical) const {
  const double own = relative_noise(m_series.seconds);
  return m_series.seconds.size() >= m_options->min_samples ? own : std::max(own, typical);
}

double SamplerTask::missing_samples(double typical_noise) const {
  const double wanted = std::min(samples_for_target(expected_noise(typical_noise), *m_options),
                                 static_cast<double>(m_options->max_samples));
  return std::max(1.0, wanted - static_cast<double>(samples()));
}

double SamplerTask::value_per_second(double typical_noise) const {
  if (samples() == 0) return std::numeric_limits<double>::infinity();
  // Sampling n_i times at cost t_i, the sum of the variances noise_i^2 / n_i is least for a given
  // time when n_i ~ noise_i / sqrt(t_i) (Neyman allocation): serve whoever lags behind that.
  const double floor_noise = 1e-3; // a lucky run of equal samples is not certainty
  return m_importance * std::max(expected_noise(typical_noise), floor_noise) /
         (static_cast<double>(samples()) * std::sqrt(std::max(m_last_cost_s, 1e-9)));
}

Series SamplerTask::finish() {
  Series& series = m_series;
  if (series.seconds.empty()) {
    series.only_throttled = !m_spare_s && m_spare_throttled_s;
    if (m_spare_s)
      series.seconds.push_back(*m_spare_s);
    else if (m_spare_throttled_s)
      series.seconds.push_back(*m_spare_throttled_s);
  }
  series.stopped = m_stopped.value_or(StopReason::time_cap);
  series.last_run_s = m_last_cost_s;
  series.noise = relative_noise(series.seconds);
  series.drift = relative_drift(series.seconds);
  const bool enough_to_tell = series.seconds.size() >= m_options->min_samples;
  series.too_noisy =
      series.stopped != StopReason::converged && enough_to_tell &&
      series.summary(m_options->confidence).relative_half_width() >
          m_options->target_relative_half_width &&
      (series.seconds.size() >= m_options->max_samples ||
       samples_for_target(series.noise, *m_options) > static_cast<double>(m_options->max_samples));
  return std::move(series);
}

} // namespace breakeven::measure
