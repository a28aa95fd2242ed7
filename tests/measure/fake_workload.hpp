#pragma once

#include "measure/sampler.hpp"

#include <functional>
#include <string>
#include <vector>

namespace breakeven::fake {

/// Time that moves only when a fake workload runs.
struct Clock {
  double now_s = 0;
  std::function<double()> reader() {
    return [this] { return now_s; };
  }
};

/// Takes `seconds(run)` of the fake clock for its run-th run, counted from 0.
class FakeWorkload : public measure::Workload {
public:
  FakeWorkload(std::string name, Clock& clock, std::function<double(int)> seconds, double scale = 1)
      : Workload(std::move(name)), m_clock(clock), m_seconds(std::move(seconds)) {
    set_scale(scale);
  }
  int runs = 0;
  std::function<bool(int)> throttled = [](int) { return false; };
  std::function<void(int)> on_run = [](int) {};
  std::vector<std::string>* log = nullptr;

protected:
  void do_run() override {
    m_last_s = m_seconds(runs);
    m_clock.now_s += m_last_s;
    m_throttled = throttled(runs);
    if (log) log->push_back(name());
    on_run(runs++);
  }
  double do_device_seconds() const override { return m_last_s; }
  bool do_throttled() const override { return m_throttled; }

private:
  Clock& m_clock;
  std::function<double(int)> m_seconds;
  double m_last_s = 0;
  bool m_throttled = false;
};

} // namespace breakeven::fake
