#pragma once

#include <cstdint>

namespace breakeven::tier {

/// Hands out parts of a store one after the other, round and round, so that what a load reads was
/// read longest ago. After a full round it starts a little further on: a load as large as the whole
/// store still differs from the one before it, and verification can tell.
class SourceRing {
public:
  /// `granule_bytes`: loads start at multiples of it (a page, a chunk); it divides `total_bytes`.
  SourceRing(std::uint64_t total_bytes, std::uint64_t granule_bytes)
      : m_total(total_bytes), m_granule(granule_bytes) {}

  [[nodiscard]] std::uint64_t total_bytes() const { return m_total; }

  /// Where the next load of `bytes` starts, in [0, total).
  std::uint64_t take(std::uint64_t bytes) {
    const std::uint64_t start = m_next % m_total;
    const std::uint64_t granules = bytes / m_granule + (bytes % m_granule != 0 ? 1 : 0);
    m_next = start + granules * m_granule;
    if (granules * m_granule >= m_total || m_next / m_total != start / m_total)
      m_next += skew_granules * m_granule;
    return start;
  }

private:
  static constexpr std::uint64_t skew_granules = 1;
  std::uint64_t m_total, m_granule, m_next = 0;
};

} // namespace breakeven::tier
