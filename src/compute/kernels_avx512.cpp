#if defined(__x86_64__) // compiled with -m flags of its own: see CMakeLists.txt
#define BREAKEVEN_VECTOR_BYTES 64
#include "compute/kernels_generic.inl"
#include "compute/kernels_tables.hpp"

namespace breakeven::compute {
const Kernels avx512_fp32_kernels = table<float>("avx512", Element::fp32, attend_fp32);
}
#endif
