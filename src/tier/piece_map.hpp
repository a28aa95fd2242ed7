#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace breakeven::tier {

/// Where the bytes of one load lie on the device: `pieces` runs of bytes / pieces bytes in a random
/// order, as an engine's free list hands out blocks. The last run takes the remainder and stays
/// last. All positions count from the start of the load.
class PieceMap {
public:
  PieceMap(std::uint64_t bytes, std::uint64_t pieces, std::uint64_t seed);

  /// The same places seen from the device: its for_each() goes over positions on the device and
  /// visits (position on the device, position in the source, bytes).
  [[nodiscard]] PieceMap inverse() const;

  [[nodiscard]] std::uint64_t bytes() const { return m_bytes; }
  [[nodiscard]] std::uint64_t pieces() const { return m_place.size(); }
  [[nodiscard]] std::uint64_t piece_bytes() const { return m_piece_bytes; }

  /// Calls visit(position in the source, position on the device, bytes) for each contiguous part
  /// of [begin, end).
  template <class Visit>
  void for_each(std::uint64_t begin, std::uint64_t end, Visit visit) const {
    while (begin < end) {
      const std::uint64_t last = m_place.size() - 1;
      const std::uint64_t piece = std::min(begin / m_piece_bytes, last);
      const std::uint64_t within = begin - piece * m_piece_bytes;
      const std::uint64_t piece_end = piece == last ? m_bytes : (piece + 1) * m_piece_bytes;
      const std::uint64_t part = std::min(end, piece_end) - begin;
      visit(begin, m_place[piece] * m_piece_bytes + within, part);
      begin += part;
    }
  }

private:
  std::uint64_t m_bytes, m_piece_bytes;
  std::vector<std::uint32_t> m_place; ///< piece of the source -> run on the device
};

} // namespace breakeven::tier
