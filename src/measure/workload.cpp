#include "measure/workload.hpp"

#include "support/error.hpp"

#include <chrono>
#include <cmath>

namespace breakeven::measure {

Observation Workload::run() {
  using clock = std::chrono::steady_clock;
  do_prepare();
  const clock::time_point start = clock::now();
  do_run();
  const clock::time_point end = clock::now();

  Observation result;
  const double device_s = do_device_seconds();
  // A negative device time means "no device clock"; NaN must not pass for it.
  result.seconds = device_s < 0 ? std::chrono::duration<double>(end - start).count() : device_s;
  result.throttled = do_throttled();
  do_verify();
  if (!std::isfinite(result.seconds))
    throw error(error_kind::measurement,
                "the clock of '" + m_name + "' gave a time that is not a number");
  return result;
}

} // namespace breakeven::measure
