#if defined(__x86_64__) // compiled with -m flags of its own: see CMakeLists.txt
#define BREAKEVEN_VECTOR_BYTES 64
#include "compute/kernels_amx.inl"
#include "compute/kernels_tables.hpp"

namespace breakeven::compute {
namespace {

/// tmm0..3: sums of the four 16 x 16 quarters; tmm4, 5: rows of a; tmm6, 7: columns of b.
struct AmxTiles {
  static void configure() {
    struct alignas(64) {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } config;
    static_assert(sizeof(config) == 64);
    order_memory();
    _tile_loadconfig(&config);
  }
  static void release() { _tile_release(); }
  static void zero() {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  static void load(const float* c, std::int64_t stride) {
    const auto* low = reinterpret_cast<const std::byte*>(c) + 16 * stride;
    _tile_loadd(0, c, stride);
    _tile_loadd(1, c + 16, stride);
    _tile_loadd(2, low, stride);
    _tile_loadd(3, low + 64, stride);
  }
  static void store(float* c, std::int64_t stride) {
    auto* low = reinterpret_cast<std::byte*>(c) + 16 * stride;
    _tile_stored(0, c, stride);
    _tile_stored(1, c + 16, stride);
    _tile_stored(2, low, stride);
    _tile_stored(3, low + 64, stride);
  }
  static void step(const bfloat* a, std::int64_t a_stride, const std::byte* b,
                   std::int64_t b_stride) {
    const auto* low = reinterpret_cast<const std::byte*>(a) + 16 * a_stride;
    _tile_loadd(6, b, b_stride);
    _tile_loadd(4, a, a_stride);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + 64, b_stride);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, low, a_stride);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
};

} // namespace
const Kernels amx_bf16_kernels = bf16_table("amx_bf16", attend_tiled<AmxTiles>);
} // namespace breakeven::compute
#endif
