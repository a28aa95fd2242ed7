#pragma once

#include "measure/statistics.hpp"
#include "profile/profile.hpp"

#include <cstdint>
#include <functional>
#include <vector>

/// From samples to curves to break-even lengths. Pure functions: no clock, no I/O.
namespace breakeven::fit {

/// Evaluates step_s, prefill_s and saved_s from the measured grids of a Prefill. Between points
/// linear in `new` and in `context` (through every measured point), beyond them the last slope,
/// but never falling. The dense part is constant below its first point; attention goes to 0 at
/// new = 0. All times are finite and not negative, but saved_s can be negative.
class PrefillCurve {
public:
  /// Throws error::bad_input for grids that are empty, unordered or do not match their values.
  PrefillCurve(const profile::Prefill& prefill, std::int64_t chunk_tokens);
  /// The same curve with every grid value replaced by the median of a bootstrap resample; values
  /// with fewer than 6 samples are drawn from their interval, or from the spread usual in this
  /// grid.
  PrefillCurve(const profile::Prefill& prefill, std::int64_t chunk_tokens, measure::Random& random);

  [[nodiscard]] double step_s(std::int64_t context, std::int64_t new_tokens) const;
  [[nodiscard]] double prefill_s(std::int64_t context, std::int64_t new_tokens) const;
  [[nodiscard]] double saved_s(std::int64_t resident, std::int64_t cached, std::int64_t prompt) const;

  /// Where step_s bends: between two neighbours it is linear in each of its arguments. Ascending.
  [[nodiscard]] std::vector<std::int64_t> new_knots() const;
  [[nodiscard]] std::vector<std::int64_t> context_knots() const;

private:
  struct Grid {
    std::vector<double> context, new_tokens, seconds; ///< seconds[context][new], row-major
  };
  PrefillCurve(const profile::Prefill& prefill, std::int64_t chunk_tokens,
               const std::function<double(const profile::Measurement&)>& value);
  double dense_s(double new_tokens) const;
  double attention_s(double context, double new_tokens) const;
  std::int64_t m_chunk_tokens;
  double m_last_context = 0; ///< attention goes on with one slope from here
  std::vector<double> m_dense_new, m_dense_seconds;
  std::vector<Grid> m_grids;
};

/// The part of a prefix that can be loaded: a hybrid model's only ends at a checkpoint.
std::int64_t loadable_tokens(const profile::Model& model, std::int64_t tokens);
/// Bytes and pieces of a prefix in a tier. Throw error::bad_input when 64 bits overflow.
std::int64_t kv_bytes(const profile::Model& model, std::int64_t tokens);
std::int64_t pieces(const profile::Layout& layout, std::int64_t tokens);

/// fixed_s + pieces * piece_s + bytes / bandwidth, all constants >= 0. With a knee > 0, the first
/// `knee_bytes` of each piece cost below_s_per_byte instead of 1 / bandwidth (profile::PieceKnee).
struct LoadFit {
  double fixed_s = 0, piece_s = 0, bandwidth_Bps = 0;
  double knee_bytes = 0, below_s_per_byte = 0;
  /// Throws error::bad_input without a positive bandwidth.
  [[nodiscard]] double load_s(std::int64_t bytes, std::int64_t pieces) const;
  /// The same without the check.
  [[nodiscard]] double seconds(double bytes, double pieces) const {
    const double below = bytes < pieces * knee_bytes ? bytes : pieces * knee_bytes;
    return fixed_s + pieces * piece_s + below * below_s_per_byte + (bytes - below) / bandwidth_Bps;
  }
};

/// Non-negative least squares on the medians of all points given, weighted for relative error.
/// Throws error::measurement when the points do not determine a positive bandwidth.
LoadFit fit_load(const std::vector<profile::SweepPoint>& points);
/// A replicate: medians of resampled samples. Where the points lie further from the fit than
/// their own noise explains, that misfit is shuffled in too (wild bootstrap, Wu 1986).
LoadFit fit_load(const std::vector<profile::SweepPoint>& points, measure::Random& random);

struct LoadModelOptions {
  double confidence = 0.95;
  int replicates = 200;
  /// Worst relative error accepted at held-out points (without any: at each point left out in
  /// turn), beyond the interval of the point itself.
  double max_holdout_error = 0.25;
  double ceiling_Bps = 0; ///< physical limit; 0 = none known
  /// Look for a knee in piece size, and take it when the data clearly say so. Set it only where
  /// whoever reads the load model evaluates LoadModel::knee.
  bool piecewise = false;
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
/// bootstrap replicates of both sides. Needs calibrated_lengths, model, prefill and tiers; a tier
/// without a usable load model is left uncalibrated with the reason. Every length between the
/// smallest and the largest calibrated one counts, not the listed ones alone. Time saved is never
/// below 0 in the table. Throws error::bad_input for lengths below 1, or none, and for broken
/// prefill grids.
void solve(profile::BreakEvenFile& file, const BreakEvenOptions& options);

} // namespace breakeven::fit
