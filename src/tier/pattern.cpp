#include "tier/pattern.hpp"

#include <algorithm>
#include <cstring>

namespace breakeven::tier {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

/// Calls whole(first_word, words, at) for the aligned middle and edge(word, skip, bytes, at) for
/// the parts of a word at both ends; `at` counts from `offset`.
template <class Whole, class Edge>
void by_words(std::uint64_t offset, std::size_t bytes, Whole whole, Edge edge) {
  std::size_t at = 0;
  if (const std::size_t skip = offset % word_bytes; skip != 0) {
    const std::size_t part = std::min(bytes, word_bytes - skip);
    edge(offset / word_bytes, skip, part, at);
    at = part;
  }
  const std::size_t words = (bytes - at) / word_bytes;
  if (words != 0) whole((offset + at) / word_bytes, words, at);
  at += words * word_bytes;
  if (at < bytes) edge((offset + at) / word_bytes, std::size_t{0}, bytes - at, at);
}

} // namespace

void fill_pattern(std::byte* destination, std::size_t bytes, std::uint64_t seed,
                  std::uint64_t offset) {
  const auto whole = [&](std::uint64_t first, std::size_t words, std::size_t at) {
    for (std::size_t i = 0; i < words; ++i) {
      const std::uint64_t word = pattern_word(seed, first + i);
      std::memcpy(destination + at + i * word_bytes, &word, word_bytes);
    }
  };
  const auto edge = [&](std::uint64_t index, std::size_t skip, std::size_t part, std::size_t at) {
    const std::uint64_t word = pattern_word(seed, index);
    std::memcpy(destination + at, reinterpret_cast<const std::byte*>(&word) + skip, part);
  };
  by_words(offset, bytes, whole, edge);
}

std::size_t pattern_mismatch(const std::byte* data, std::size_t bytes, std::uint64_t seed,
                             std::uint64_t offset) {
  constexpr std::size_t batch = 64;
  std::size_t wrong = bytes;
  const auto compare = [&](std::uint64_t word, std::size_t skip, std::size_t part, std::size_t at) {
    const auto* expected = reinterpret_cast<const std::byte*>(&word) + skip;
    for (std::size_t i = 0; i < part; ++i)
      if (data[at + i] != expected[i]) {
        wrong = std::min(wrong, at + i);
        return;
      }
  };
  const auto whole = [&](std::uint64_t first, std::size_t words, std::size_t at) {
    for (std::size_t begin = 0; begin < words; begin += batch) {
      const std::size_t end = std::min(words, begin + batch);
      std::uint64_t differences = 0; // branch-free within a batch
      for (std::size_t i = begin; i < end; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, data + at + i * word_bytes, word_bytes);
        differences |= word ^ pattern_word(seed, first + i);
      }
      if (differences == 0) continue;
      for (std::size_t i = begin; i < end; ++i)
        compare(pattern_word(seed, first + i), 0, word_bytes, at + i * word_bytes);
      return;
    }
  };
  const auto edge = [&](std::uint64_t index, std::size_t skip, std::size_t part, std::size_t at) {
    compare(pattern_word(seed, index), skip, part, at);
  };
  by_words(offset, bytes, whole, edge);
  return wrong;
}

} // namespace breakeven::tier
