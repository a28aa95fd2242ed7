#pragma once

#include <string>
#include <utility>

namespace breakeven::measure {

/// One execution of a workload.
struct Observation {
  double seconds = 0;     ///< time of the work, in the workload's own clock
  bool throttled = false; ///< the device ran below its usual clock: count it, do not use it
};

/// Something that can be timed again and again. `run()` is the only entry: it prepares outside
/// the timed region, times, and verifies outside the timed region.
class Workload {
public:
  explicit Workload(std::string name) : m_name(std::move(name)) {}
  virtual ~Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return m_name; }

  /// Work done per run divided into the work asked for: a workload that runs 2 of 16 identical
  /// layers has scale 8. Samples are stored already multiplied.
  [[nodiscard]] double scale() const noexcept { return m_scale; }

  /// Throws error_kind::measurement when verification fails, error_kind::environment when the
  /// machine refuses the work.
  Observation run();

protected:
  void set_scale(double scale) noexcept { m_scale = scale; }
  virtual void do_prepare() {}
  virtual void do_run() = 0;
  virtual void do_verify() {}
  /// Seconds by the device's own clock for the last do_run(), or a negative number to take the
  /// host's steady clock around do_run().
  [[nodiscard]] virtual double do_device_seconds() const { return -1; }
  [[nodiscard]] virtual bool do_throttled() const { return false; }

private:
  std::string m_name;
  double m_scale = 1;
};

} // namespace breakeven::measure
