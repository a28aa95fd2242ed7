#include "measure/statistics.hpp"

#include <bit>

namespace breakeven::measure {

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : m_state) { // splitmix64: never leaves the state all zero
    seed += 0x9e3779b97f4a7c15;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::operator()() {
  const std::uint64_t result = std::rotl(m_state[1] * 5, 7) * 9;
  const std::uint64_t shifted = m_state[1] << 17;
  m_state[2] ^= m_state[0];
  m_state[3] ^= m_state[1];
  m_state[1] ^= m_state[2];
  m_state[0] ^= m_state[3];
  m_state[2] ^= shifted;
  m_state[3] = std::rotl(m_state[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  if (bound <= 1) return 0;
  // Values below 2^64 mod bound would make the small remainders likelier.
  const std::uint64_t rejected = (0 - bound) % bound;
  std::uint64_t value = (*this)();
  while (value < rejected)
    value = (*this)();
  return value % bound;
}

double Random::uniform() {
  return static_cast<double>((*this)() >> 11) * 0x1.0p-53;
}

} // namespace breakeven::measure
