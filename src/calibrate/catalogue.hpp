#pragma once

#include "measure/sampler.hpp"
#include "profile/profile.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

namespace breakeven::calibrate {

/// All workloads of a run, loads and recomputation alike, so that one sampler interleaves them and
/// drift hits both sides of the inequality. Sampling again adds to the samples there are.
class Catalogue {
public:
  using Id = std::size_t;
  Id add(std::unique_ptr<measure::Workload> workload);

  /// Samples those for which `importance(id)` is above 0, within `seconds`.
  void sample(double seconds, const std::function<double(Id)>& importance, std::stop_token stop,
              const measure::Progress& progress);

  [[nodiscard]] std::size_t size() const { return m_entries.size(); }
  [[nodiscard]] const measure::Series& series(Id id) const { return m_entries.at(id).series; }
  [[nodiscard]] profile::Measurement measurement(Id id) const;

private:
  struct Entry {
    std::unique_ptr<measure::Workload> workload;
    measure::Series series;
  };
  std::vector<Entry> m_entries;
  std::uint64_t m_round = 0;
};

} // namespace breakeven::calibrate
