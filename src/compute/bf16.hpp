#pragma once

#include <bit>
#include <cstdint>

namespace breakeven::compute {

/// The upper half of an IEEE single: 8 exponent bits, 7 mantissa bits.
struct bf16 {
  std::uint16_t bits = 0;
};

inline float to_float(bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
inline float to_float(float value) {
  return value;
}

/// Round to nearest, ties to even; NaN is not preserved (no buffer of ours holds one).
inline bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

} // namespace breakeven::compute
