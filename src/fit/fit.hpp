#pragma once

#include "measure/statistics.hpp"
#include "profile/profile.hpp"

#include <cstdint>
#include <vector>

/// From samples to curves to break-even lengths. Pure functions: no clock, no I/O.
namespace breakeven::fit {

/// Evaluates step_s, prefill_s and saved_s from the measured grids of a Prefill. Between points
/// linear in `new` and in `context` (through every measured point), beyond them the last slope.
class PrefillCurve {
public:
  PrefillCurve(const profile::Prefill& prefill, std::int64_t chunk_tokens);
  /// The same curve with every grid value replaced by the median of a bootstrap resample.
  PrefillCurve(const profile::Prefill& prefill, std::int64_t chunk_tokens, measure::Random& random);

  [[nodiscard]] double step_s(std::int64_t context, std::int64_t new_tokens) const;
  [[nodiscard]] double prefill_s(std::int64_t context, std::int64_t new_tokens) const;
  [[nodiscard]] double saved_s(std::int64_t resident, std::int64_t cached, std::int64_t prompt) const;

private:
  struct Grid {
    std::vector<double> context, new_tokens, seconds; ///< seconds[context][new], row-major
  };
  double attention_s(double context, double new_tokens) const;
  std::int64_t m_chunk_tokens;
  std::vector<double> m_dense_new, m_dense_seconds;
  std::vector<Grid> m_grids;
};

/// Bytes and pieces of a prefix in a tier.
std::int64_t kv_bytes(const profile::Model& model, std::int64_t tokens);
std::int64_t pieces(const profile::Layout& layout, std::int64_t tokens);

/// fixed_s + pieces * piece_s + bytes / bandwidth, all constants >= 0.
struct LoadFit {
  double fixed_s = 0, piece_s = 0, bandwidth_Bps = 0;
  [[nodiscard]] double load_s(std::int64_t bytes, std::int64_t pieces) const;
};

/// Non-negative least squares on the medians, weighted for relative error. Throws
/// error::measurement when the points do not determine a positive bandwidth.
LoadFit fit_load(const std::vector<profile::SweepPoint>& points);
/// A replicate: medians of resampled samples.
LoadFit fit_load(const std::vector<profile::SweepPoint>& points, measure::Random& random);

struct LoadModelOptions {
  double confidence = 0.95;
  int replicates = 200;
  double max_holdout_error = 0.25; ///< worst relative error accepted at held-out points
  double ceiling_Bps = 0;          ///< physical limit; 0 = none known
  std::uint64_t seed = 1;
};
/// Fills tier.load from tier.sweep (in_flight 1 for the constants, all for the bandwidths), or
/// sets status "uncalibrated" with a reason when a sanity gate fails.
void fit_tier(profile::Tier& tier, const LoadModelOptions& options);

struct BreakEvenOptions {
  double confidence = 0.95;
  int replicates = 200;
  std::uint64_t seed = 1;
};
/// Solves break_even of every calibrated tier and fills lengths and frontier, with intervals from
/// bootstrap replicates of both sides. Needs calibrated_lengths, model, prefill and tiers.
void solve(profile::BreakEvenFile& file, const BreakEvenOptions& options);

} // namespace breakeven::fit
