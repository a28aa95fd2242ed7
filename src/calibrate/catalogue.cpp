#include "calibrate/catalogue.hpp"

#include <utility>

namespace breakeven::calibrate {

Catalogue::Id Catalogue::add(std::unique_ptr<measure::Workload> workload) {
  m_entries.push_back({std::move(workload), {}});
  return m_entries.size() - 1;
}

void Catalogue::sample(double seconds, const std::function<double(Id)>& importance,
                       std::stop_token stop, const measure::Progress& progress) {
  std::vector<Id> ids;
  std::vector<measure::Workload*> workloads;
  measure::SamplerOptions options;
  for (Id id = 0; id < m_entries.size(); ++id) {
    const double weight = importance(id);
    if (weight <= 0) continue;
    ids.push_back(id);
    workloads.push_back(m_entries[id].workload.get());
    options.importance.push_back(weight);
    if (m_round > 0) options.continued.push_back(m_entries[id].series);
  }
  if (workloads.empty()) return;
  options.max_seconds_total = seconds;
  options.seed = ++m_round;
  std::vector<measure::Series> found =
      measure::sample_interleaved(workloads, options, stop, progress);
  for (std::size_t i = 0; i < ids.size(); ++i)
    m_entries[ids[i]].series = std::move(found[i]);
}

profile::Measurement Catalogue::measurement(Id id) const {
  const measure::Series& found = series(id);
  const measure::MedianInterval interval = found.summary();
  return {interval.median,
          interval.lo,
          interval.hi,
          static_cast<std::int64_t>(interval.count),
          measure::to_string(found.stopped),
          found.seconds};
}

} // namespace breakeven::calibrate
