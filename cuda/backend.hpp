#pragma once

#include "compute/compute.hpp"

namespace breakeven::cuda {

/// The row of compute::backends() for NVIDIA GPUs.
compute::Backend backend();

} // namespace breakeven::cuda
