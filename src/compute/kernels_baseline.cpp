#define BREAKEVEN_VECTOR_BYTES 16
#include "compute/kernels_generic.inl"
#include "compute/kernels_tables.hpp"

namespace breakeven::compute {
const Kernels baseline_fp32_kernels = table<float>("baseline", Element::fp32, attend_fp32);
}
