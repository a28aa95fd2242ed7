#pragma once

#include "fit/fit.hpp"

#include <cstdint>
#include <limits>
#include <vector>

/// The search for break-even lengths along one axis of prefix lengths. Internal to the room.
namespace breakeven::fit {

/// No length in the range from which loading wins up to the largest.
inline constexpr std::int64_t no_length = std::numeric_limits<std::int64_t>::max();

/// Lengths between which saved_s(0, p, p + 1) - load_s(p) is linear in p, for every tier given:
/// both sides of each chunk edge of the engine and of the tiers, and each bend of the curves, in
/// [lo, hi]. Only loadable lengths (multiples of the model's checkpoint) count. Ascending; empty
/// when no length is loadable. Tier chunks are left out where they are so many (over 16,384) that
/// one chunk is next to nothing against the prefix. A load model with a knee in piece size can bend
/// once more within a tier's chunk.
std::vector<std::int64_t> search_lengths(const profile::Model& model, const PrefillCurve& curve,
                                         const std::vector<profile::Tier>& tiers, std::int64_t lo,
                                         std::int64_t hi);

/// saved_s(0, p, p + 1) at each of the ascending `lengths`; full steps are summed only once.
std::vector<double> saved_at(const PrefillCurve& curve, std::int64_t chunk_tokens,
                             const std::vector<std::int64_t>& lengths);

/// Bytes and pieces of a load at each of some lengths, and the margins they leave.
class LoadSizes {
public:
  LoadSizes(const profile::Model& model, const profile::Layout& layout,
            const std::vector<std::int64_t>& lengths);
  [[nodiscard]] double load_s(const LoadFit& fit, std::size_t i) const {
    return fit.seconds(m_bytes[i], m_pieces[i]);
  }

private:
  std::vector<double> m_bytes, m_pieces;
};

/// Smallest p with margin > 0 at p and at every larger length, to the exact token (multiple of
/// `stride`): `lengths` from search_lengths, saved_s at them. no_length when the largest loses.
std::int64_t smallest_winning(const std::vector<std::int64_t>& lengths,
                              const std::vector<double>& saved_s, const LoadSizes& sizes,
                              const LoadFit& fit, std::int64_t stride);

/// Smallest cached length of a prompt from which loading wins up to prompt - 1 (frontier), found on
/// a grid of at most 256 lengths and refined to the token between them; no_length when it loses at
/// prompt - 1 already.
std::int64_t smallest_winning_cached(const profile::Model& model, const profile::Layout& layout,
                                     const PrefillCurve& curve, const LoadFit& fit,
                                     std::int64_t prompt);

} // namespace breakeven::fit
