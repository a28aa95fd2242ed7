#pragma once

namespace breakeven::measure {

enum class StopReason {
  converged,  ///< the interval of the median is within the target
  sample_cap, ///< max_samples reached first
  time_cap,   ///< the workload's or the run's time ran out first
  interrupted ///< a stop was requested
};
const char* to_string(StopReason reason); ///< "converged", "sample_cap", ...

} // namespace breakeven::measure
