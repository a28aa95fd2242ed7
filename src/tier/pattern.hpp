#pragma once

#include <cstddef>
#include <cstdint>

/// The content of every source that loads read: a stream of 64-bit words that depends on nothing
/// but a seed and the place, so that any part can be checked without keeping a copy. The words
/// pass for random: neither a file system nor a drive can compress or deduplicate them.
namespace breakeven::tier {

/// SplitMix64 (Steele, Lea, Flood 2014) evaluated at position `index`.
constexpr std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// Writes bytes [offset, offset + bytes) of the stream.
void fill_pattern(std::byte* destination, std::size_t bytes, std::uint64_t seed,
                  std::uint64_t offset);

/// The position within `data` of the first byte that differs from [offset, offset + bytes) of the
/// stream, or `bytes` when all are right.
std::size_t pattern_mismatch(const std::byte* data, std::size_t bytes, std::uint64_t seed,
                             std::uint64_t offset);

} // namespace breakeven::tier
