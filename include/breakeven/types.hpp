#pragma once

#include <cstddef>
#include <cstdint>

/// Words of the admission library. C++17, std only, noexcept, no allocation.
/// Tokens, Seconds and TierId convert from nothing implicitly, so that swapped arguments do not
/// compile.
namespace breakeven {

/// A count of prompt tokens.
struct Tokens {
  constexpr Tokens() noexcept = default;
  constexpr explicit Tokens(std::int64_t count) noexcept : value(count) {}
  std::int64_t value = 0;

  friend constexpr bool operator==(Tokens a, Tokens b) noexcept { return a.value == b.value; }
  friend constexpr bool operator!=(Tokens a, Tokens b) noexcept { return a.value != b.value; }
  friend constexpr bool operator<(Tokens a, Tokens b) noexcept { return a.value < b.value; }
  friend constexpr bool operator<=(Tokens a, Tokens b) noexcept { return a.value <= b.value; }
  friend constexpr bool operator>(Tokens a, Tokens b) noexcept { return a.value > b.value; }
  friend constexpr bool operator>=(Tokens a, Tokens b) noexcept { return a.value >= b.value; }
};

/// A duration in seconds.
struct Seconds {
  constexpr Seconds() noexcept = default;
  constexpr explicit Seconds(double duration_s) noexcept : value(duration_s) {}
  double value = 0;
};

/// Index of a tier in a Policy, from Policy::find_tier; the default is "no such tier".
struct TierId {
  constexpr TierId() noexcept = default;
  constexpr explicit TierId(int position) noexcept : index(position) {}
  int index = -1;

  friend constexpr bool operator==(TierId a, TierId b) noexcept { return a.index == b.index; }
  friend constexpr bool operator!=(TierId a, TierId b) noexcept { return a.index != b.index; }
};

/// Fixed capacities of a Policy. policy_file.hpp refuses a file that exceeds one, by name.
inline constexpr int max_tiers = 16;
inline constexpr int max_tier_name = 128; ///< bytes, with the terminating zero
inline constexpr int max_windows = 8;     ///< sliding-window terms of the KV size
inline constexpr int max_in_flight_points = 16;
inline constexpr int max_context_points = 48; ///< contexts of all attention grids together
inline constexpr int max_new_points =
    64;                                 ///< `new` points of the dense curve and all grids together
inline constexpr int max_segments = 16; ///< parts of one hit

/// Token counts above this are refused: far beyond any model, and exact in a double.
inline constexpr std::int64_t max_tokens = std::int64_t{1} << 40;

/// What calibration found for a tier; see DESIGN words "break-even length".
enum class TierVerdict : std::uint8_t { at, always, never, inconclusive, uncalibrated };

constexpr const char* to_string(TierVerdict verdict) noexcept {
  switch (verdict) {
  case TierVerdict::at:
    return "at";
  case TierVerdict::always:
    return "always";
  case TierVerdict::never:
    return "never";
  case TierVerdict::inconclusive:
    return "inconclusive";
  case TierVerdict::uncalibrated:
    return "uncalibrated";
  }
  return "uncalibrated";
}

/// Why a Decision is what it is.
enum class Reason : std::uint8_t {
  load_is_faster,
  recompute_is_faster,
  nothing_cached,     ///< no segments, or all of the hit is already resident
  shorter_than_block, ///< the hit holds no whole block (or state checkpoint) beyond `resident`
  unknown_tier,       ///< the first segment's tier is not in the policy
  tier_uncalibrated,  ///< the first segment's tier was not calibrated
  tier_never_wins,    ///< the first segment's tier never wins on this node
  bad_query,          ///< negative, not finite, too large, or an empty prompt
  no_policy,          ///< the policy is empty: nothing was loaded into it
};

constexpr const char* to_string(Reason reason) noexcept {
  switch (reason) {
  case Reason::load_is_faster:
    return "loading is faster";
  case Reason::recompute_is_faster:
    return "recomputing is faster";
  case Reason::nothing_cached:
    return "nothing to load beyond what is resident";
  case Reason::shorter_than_block:
    return "the hit holds no whole block beyond what is resident";
  case Reason::unknown_tier:
    return "the tier is not in the policy";
  case Reason::tier_uncalibrated:
    return "the tier was not calibrated";
  case Reason::tier_never_wins:
    return "the tier never wins on this node";
  case Reason::bad_query:
    return "the query is out of range";
  case Reason::no_policy:
    return "no policy is loaded";
  }
  return "no policy is loaded";
}

/// Why a StoreDecision is what it is.
enum class StoreReason : std::uint8_t {
  saving_exceeds_write,
  write_exceeds_saving,
  load_never_pays,    ///< nobody would load a prefix of this length from that tier
  write_budget_spent, ///< the write would exceed the bytes per day
  store_not_measured, ///< no store rate, or no load rate, is known for the tier
  unknown_tier,
  bad_query,
  no_policy,
};

constexpr const char* to_string(StoreReason reason) noexcept {
  switch (reason) {
  case StoreReason::saving_exceeds_write:
    return "the expected saving exceeds the write";
  case StoreReason::write_exceeds_saving:
    return "the write costs more than it is expected to save";
  case StoreReason::load_never_pays:
    return "computing this length is faster than loading it";
  case StoreReason::write_budget_spent:
    return "the write would exceed the day's budget";
  case StoreReason::store_not_measured:
    return "the tier's store rate was not measured";
  case StoreReason::unknown_tier:
    return "the tier is not in the policy";
  case StoreReason::bad_query:
    return "the query is out of range";
  case StoreReason::no_policy:
    return "no policy is loaded";
  }
  return "no policy is loaded";
}

} // namespace breakeven
