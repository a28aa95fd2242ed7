#include "calibrate/contention.hpp"

#include "measure/statistics.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace breakeven::calibrate {
namespace {

using clock = std::chrono::steady_clock;
constexpr std::size_t least_runs = 2, most_runs = 200;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

std::vector<double> repeat(measure::Workload& workload, double seconds,
                           const std::stop_token& stop) {
  std::vector<double> samples;
  workload.run(); // warm-up
  const clock::time_point start = clock::now();
  while (!stop.stop_requested() && (samples.size() < least_runs ||
                                    (seconds_since(start) < seconds && samples.size() < most_runs)))
    samples.push_back(workload.run().seconds * workload.scale());
  return samples;
}

profile::Measurement measurement(const std::vector<double>& samples) {
  const measure::MedianInterval interval = measure::median_interval(samples, 0.95);
  return {interval.median, interval.lo, interval.hi, static_cast<std::int64_t>(samples.size()),
          "time_cap",      samples};
}

/// Runs loads in a thread of its own while it lives.
class Loader {
public:
  explicit Loader(measure::Workload& load) : m_load(load), m_thread([this] { work(); }) {}
  /// Loads that were under way when the steps ended do not count.
  std::vector<double> finish() {
    m_stop = true;
    m_thread.join();
    if (m_failure) std::rethrow_exception(m_failure);
    return std::move(m_samples);
  }
  ~Loader() {
    m_stop = true;
    if (m_thread.joinable()) m_thread.join();
  }
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

private:
  void work() noexcept {
    try {
      while (!m_stop) {
        const double seconds = m_load.run().seconds * m_load.scale();
        if (!m_stop) m_samples.push_back(seconds);
      }
    } catch (...) {
      m_failure = std::current_exception();
    }
  }

  measure::Workload& m_load;
  std::atomic<bool> m_stop{false};
  std::vector<double> m_samples;
  std::exception_ptr m_failure;
  std::thread m_thread;
};

} // namespace

std::optional<profile::Contention> measure_contention(const Contenders& contenders, double seconds,
                                                      std::stop_token stop) {
  const std::vector<double> loads = repeat(contenders.load, seconds / 8, stop);
  const std::vector<double> steps = repeat(contenders.step, seconds / 4, stop);
  Loader loader(contenders.load);
  const std::vector<double> steps_at_once = repeat(contenders.step, seconds / 2, stop);
  const std::vector<double> loads_at_once = loader.finish();
  if (stop.stop_requested() || loads_at_once.empty()) return std::nullopt;

  profile::Contention found;
  found.bytes = static_cast<std::int64_t>(contenders.shape.bytes);
  found.pieces = static_cast<std::int64_t>(contenders.shape.pieces);
  found.new_tokens = contenders.new_tokens;
  found.load_alone_s = measure::median(loads);
  found.prefill_alone_s = measure::median(steps);
  found.load = measurement(loads_at_once);
  found.prefill = measurement(steps_at_once);
  if (!(found.load_alone_s > 0) || !(found.prefill_alone_s > 0) || !(found.load.median_s > 0))
    return std::nullopt;
  found.load_slowdown = found.load.median_s / found.load_alone_s;
  found.prefill_slowdown = found.prefill.median_s / found.prefill_alone_s;
  return found;
}

} // namespace breakeven::calibrate
