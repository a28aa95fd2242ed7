#pragma once

#include "measure/workload.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace breakeven::verify {

/// Pieces of work one after the other, as a request meets them: a load and the steps of the rest,
/// or the steps of everything. Its seconds are the sum over the pieces, each in its own clock and
/// scaled to the whole model.
class Chain final : public measure::Workload {
public:
  using Part = std::shared_ptr<measure::Workload>;
  Chain(std::string name, Part load, std::vector<Part> steps)
      : Workload(std::move(name)), m_load(std::move(load)), m_steps(std::move(steps)) {}

  /// Runs it once now; the next run() returns that observation instead of working again, so that
  /// finding out what it costs is also its first sample.
  void run_ahead();
  /// Of the loads in all runs so far; empty without a load.
  [[nodiscard]] const std::vector<double>& load_seconds() const { return m_load_seconds; }

protected:
  void do_run() override;
  [[nodiscard]] double do_device_seconds() const override { return m_seconds; }
  [[nodiscard]] bool do_throttled() const override { return m_throttled; }

private:
  double add(measure::Workload& part);

  Part m_load; ///< null for a recomputation
  std::vector<Part> m_steps;
  std::vector<double> m_load_seconds;
  double m_seconds = 0;
  bool m_throttled = false;
  bool m_ahead = false;
};

} // namespace breakeven::verify
