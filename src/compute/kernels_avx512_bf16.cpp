#if defined(__x86_64__) // compiled with -m flags of its own: see CMakeLists.txt
#define BREAKEVEN_VECTOR_BYTES 64
#include "compute/kernels_avx512_bf16.inl"
#include "compute/kernels_tables.hpp"

namespace breakeven::compute {
namespace {
void attend_bf16(const AttentionTile& t) {
  attend_blocks<bfloat, scores_bf16, softmax_bf16, accumulate_bf16>(t);
}
} // namespace
const Kernels avx512_bf16_kernels = bf16_table("avx512_bf16", attend_bf16);
} // namespace breakeven::compute
#endif
