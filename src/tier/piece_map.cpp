#include "tier/piece_map.hpp"

#include "measure/statistics.hpp"
#include "support/error.hpp"

#include <limits>
#include <numeric>
#include <utility>

namespace breakeven::tier {

PieceMap::PieceMap(std::uint64_t bytes, std::uint64_t pieces, std::uint64_t seed)
    : m_bytes(bytes), m_piece_bytes(pieces == 0 ? 0 : bytes / pieces) {
  if (m_piece_bytes == 0 || pieces > std::numeric_limits<std::uint32_t>::max())
    throw error(error_kind::usage, "cannot split " + std::to_string(bytes) + " bytes into " +
                                       std::to_string(pieces) + " pieces");
  m_place.resize(pieces);
  std::iota(m_place.begin(), m_place.end(), std::uint32_t{0});
  measure::Random random(seed);
  for (std::uint64_t i = pieces - 1; i > 1; --i) // all but the last, which may be longer
    std::swap(m_place[i - 1], m_place[random.below(i)]);
}

PieceMap PieceMap::inverse() const {
  PieceMap result = *this;
  for (std::size_t piece = 0; piece < m_place.size(); ++piece)
    result.m_place[m_place[piece]] = static_cast<std::uint32_t>(piece);
  return result;
}

} // namespace breakeven::tier
