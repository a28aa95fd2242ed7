#pragma once

#include "breakeven/policy.hpp"
#include "breakeven/query.hpp"

namespace breakeven {

/// Whole-number helpers; powers of two, the common case, need no division.
namespace whole {
inline bool is_power_of_two(std::int64_t value) noexcept {
  return (value & (value - 1)) == 0;
}
inline std::int64_t floor_to(std::int64_t value, std::int64_t unit) noexcept {
  return is_power_of_two(unit) ? (value & -unit) : value / unit * unit;
}
inline std::int64_t ceil_to(std::int64_t value, std::int64_t unit) noexcept {
  return floor_to(value + unit - 1, unit);
}
inline bool divides(std::int64_t unit, std::int64_t value) noexcept {
  return floor_to(value, unit) == value;
}
inline std::int64_t greatest_common_divisor(std::int64_t a, std::int64_t b) noexcept {
  while (b != 0) {
    const std::int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
/// At most max_tokens.
inline std::int64_t least_common_multiple(std::int64_t a, std::int64_t b) noexcept {
  if (divides(a, b)) return b;
  const std::int64_t factor = b / greatest_common_divisor(a, b);
  return factor > max_tokens / a ? max_tokens : a * factor;
}
} // namespace whole

/// A segment that can be loaded: tokens (begin, end] of the prompt, with the load time of
/// everything from `resident` on as a function of the length loaded.
class LoadPart {
public:
  std::int64_t begin, end;
  std::int64_t chunk_tokens; ///< of the tier
  double chunk_s;            ///< pieces of one tier chunk
  double end_s; ///< no load just below or above `end` is faster; set where another part follows
  bool extrapolated; ///< more loads in flight than were measured

  LoadPart() noexcept {} // NOLINT: filled by set(); 16 of them are not worth clearing

  /// `before_s`: when the parts before it are loaded (without state).
  void set(const Policy& policy, const Segment& segment, std::int64_t resident, std::int64_t from,
           std::int64_t to, double before_s) noexcept {
    const TierCost& tier = policy.cost(segment.tier);
    m_kv = &policy.kv_size();
    m_resident = static_cast<double>(resident);
    begin = from;
    end = to;
    chunk_tokens = tier.chunk_tokens;
    chunk_s = tier.correction * tier.piece_s * static_cast<double>(tier.pieces_per_chunk);
    m_inverse_chunk = tier.inverse_chunk;
    m_shift = tier.chunk_shift;
    m_byte_s = tier.correction * (segment.in_flight <= tier.in_flight[0]
                                      ? tier.byte_s
                                      : 1 / tier.bandwidth(segment.in_flight));
    extrapolated = segment.in_flight > tier.in_flight[tier.points - 1];
    const double start_chunk = chunks(from);
    m_base_s = before_s + tier.correction * tier.fixed_s - chunk_s * start_chunk -
               m_byte_s * m_kv->token_bytes(static_cast<double>(from) - m_resident);
    m_state_s = m_byte_s * m_kv->state_bytes;
  }

  /// Load time of the first `tokens`, begin < tokens <= end.
  [[nodiscard]] double load_s(std::int64_t tokens) const noexcept {
    return m_state_s + without_state_s(tokens);
  }
  [[nodiscard]] double without_state_s(std::int64_t tokens) const noexcept {
    return m_base_s + chunk_s * chunks(tokens + chunk_tokens - 1) +
           m_byte_s * m_kv->token_bytes(static_cast<double>(tokens) - m_resident);
  }
  /// What a hybrid model's state adds, whatever the length.
  [[nodiscard]] double state_s() const noexcept { return m_state_s; }
  /// load_s with tier chunks counted in fractions: concave in `tokens`, never more than load_s.
  [[nodiscard]] double least_s(double tokens) const noexcept {
    return m_state_s + m_base_s + chunk_s * (tokens * m_inverse_chunk) +
           m_byte_s * m_kv->token_bytes(tokens - m_resident);
  }
  /// Seconds that a further token adds to least_s, at a length: falls with the length.
  [[nodiscard]] double marginal_s(std::int64_t tokens) const noexcept {
    return chunk_s * m_inverse_chunk + marginal_bytes_s(tokens);
  }
  /// The same within a tier chunk: no further pieces.
  [[nodiscard]] double marginal_bytes_s(std::int64_t tokens) const noexcept {
    return m_byte_s * m_kv->marginal_bytes(static_cast<double>(tokens) - m_resident);
  }

  /// How much of its last tier chunk a length fills, in (0, 1].
  [[nodiscard]] double fraction_of_chunk(std::int64_t tokens) const noexcept {
    const std::int64_t over = whole::ceil_to(tokens, chunk_tokens) - tokens;
    return 1 - static_cast<double>(over) * m_inverse_chunk;
  }

  /// load_s - least_s: pieces of the last tier chunk that a length pays for and does not fill.
  [[nodiscard]] double unfilled_s(std::int64_t tokens) const noexcept {
    return chunk_s - chunk_s * fraction_of_chunk(tokens);
  }

private:
  [[nodiscard]] double chunks(std::int64_t tokens) const noexcept {
    return static_cast<double>(m_shift >= 0 ? tokens >> m_shift : tokens / chunk_tokens);
  }

  const KvSize* m_kv;
  int m_shift; ///< chunk_tokens = 1 << shift, or -1
  double m_resident, m_inverse_chunk, m_byte_s, m_base_s, m_state_s;
};

} // namespace breakeven
