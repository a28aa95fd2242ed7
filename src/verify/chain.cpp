#include "verify/chain.hpp"

namespace breakeven::verify {

void Chain::run_ahead() {
  m_ahead = false;
  run();
  m_ahead = true;
}

double Chain::add(measure::Workload& part) {
  const measure::Observation seen = part.run();
  m_throttled = m_throttled || seen.throttled;
  const double seconds = seen.seconds * part.scale();
  m_seconds += seconds;
  return seconds;
}

void Chain::do_run() {
  if (m_ahead) {
    m_ahead = false;
    return;
  }
  m_seconds = 0;
  m_throttled = false;
  if (m_load) m_load_seconds.push_back(add(*m_load));
  for (const Part& step : m_steps)
    add(*step);
}

} // namespace breakeven::verify
