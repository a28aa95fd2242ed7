#if defined(__x86_64__) // compiled with -m flags of its own: see CMakeLists.txt
#define BREAKEVEN_VECTOR_BYTES 64
#include "compute/kernels_amx.inl"
#include "compute/kernels_tables.hpp"

namespace breakeven::compute {
namespace {

thread_local float emulated_sums[32][32];

/// What AmxTiles does, on memory: checks the loops of kernels_amx.inl on CPUs without AMX.
struct EmulatedTiles {
  static void configure() {}
  static void release() {}
  static void zero() {
    for (auto& row : emulated_sums)
      for (float& x : row)
        x = 0;
  }
  static void load(const float* c, std::int64_t stride) {
    for (std::int64_t r = 0; r < 32; ++r)
      for (std::int64_t j = 0; j < 32; ++j)
        emulated_sums[r][j] = c[r * stride / 4 + j];
  }
  static void store(float* c, std::int64_t stride) {
    for (std::int64_t r = 0; r < 32; ++r)
      for (std::int64_t j = 0; j < 32; ++j)
        c[r * stride / 4 + j] = emulated_sums[r][j];
  }
  static void step(const bfloat* a, std::int64_t a_stride, const std::byte* b_,
                   std::int64_t b_stride) {
    const auto* b = reinterpret_cast<const bfloat*>(b_);
    for (std::int64_t r = 0; r < 32; ++r)
      for (std::int64_t j = 0; j < 32; ++j)
        for (std::int64_t k = 0; k < 32; ++k)
          emulated_sums[r][j] +=
              widen(a[r * a_stride / 2 + k]) * widen(b[k / 2 * (b_stride / 2) + 2 * j + k % 2]);
  }
};

} // namespace
const Kernels emulated_amx_bf16_kernels =
    bf16_table("amx_bf16 (emulated)", attend_tiled<EmulatedTiles>);
} // namespace breakeven::compute
#endif
