#pragma once

#include "compare/compare.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// What two files have in common to compare. Internal to the room.
namespace breakeven::compare {

enum class Source { compute, load };

/// A time that both files sampled.
struct SampledPair {
  std::string group, name;
  Source source = Source::compute;
  const profile::Measurement *base = nullptr, *next = nullptr;
  std::string blocked; ///< not empty: why it cannot be compared
};

/// A constant of a load model, which both files fitted to their samples.
struct FittedPair {
  std::string group, name;
  Unit unit = Unit::seconds;
  profile::Estimate base, next;
  std::int64_t base_samples = 0, next_samples = 0; ///< of all loads behind it
  std::int64_t base_each = 0, next_each = 0;       ///< of one of these loads, usually
  /// A load that this constant is part of, in seconds, and how many times: says how much a change
  /// matters and how far drift of loads moves the constant. 0 = judged by its ratio (bandwidth).
  double load_s = 0, multiple = 1;
  std::string blocked;
};

struct Pairs {
  std::vector<SampledPair> sampled;
  std::vector<FittedPair> fitted;
  std::vector<Quantity> lone;        ///< tiers that only one file has or could calibrate
  std::vector<Difference> unmatched; ///< points that only one file measured
};

/// The files must outlive the result.
Pairs pair_up(const profile::BreakEvenFile& base, const profile::BreakEvenFile& next,
              const std::vector<Difference>& differences);

/// What differs besides measured values; those that block come first.
std::vector<Difference> differences_of(const Input& base, const Input& next);

/// Empty, or why quantities of `scope` ("model" or a tier's name) cannot be compared.
std::string blocked_by(const std::vector<Difference>& differences, const std::string& scope);

/// Facts that moved and may explain why `group` did: clocks, throttling, request sizes.
std::string likely_reason(const profile::BreakEvenFile& base, const profile::BreakEvenFile& next,
                          const std::string& tier);

/// The tier of that name; null when there is none.
const profile::Tier* tier_named(const profile::BreakEvenFile& file, const std::string& name);

/// Verdicts on break-even lengths, one for each tier in both files.
std::vector<Quantity> judge_break_even(const profile::BreakEvenFile& base,
                                       const profile::BreakEvenFile& next,
                                       const std::vector<Difference>& differences,
                                       const Options& options);

} // namespace breakeven::compare
