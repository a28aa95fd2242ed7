#pragma once

#include "fit/fit.hpp"
#include "profile/profile.hpp"

#include <optional>
#include <string>
#include <vector>

/// Internal to the room: the curves of one break-even file at any prefix length.
namespace breakeven::report {

/// An interval known at some lengths as a ratio to the value; in between the ratio is linear in the
/// logarithm of the length.
class RelativeInterval {
public:
  void add(double length, const profile::Estimate& estimate); ///< ascending lengths
  [[nodiscard]] profile::Estimate around(double length, double value) const;

private:
  struct Ratio {
    double log_length, lo, hi;
  };
  std::vector<Ratio> m_ratios;
};

class FileCurves {
public:
  explicit FileCurves(const profile::BreakEvenFile& file);

  [[nodiscard]] const profile::BreakEvenFile& file() const { return m_file; }
  /// Empty, or why there is no recompute curve.
  [[nodiscard]] const std::string& reason() const { return m_reason; }
  [[nodiscard]] std::int64_t shortest() const { return m_file.calibrated_lengths.front(); }
  [[nodiscard]] std::int64_t longest() const { return m_file.calibrated_lengths.back(); }
  /// `per_octave` lengths per factor of two over the calibrated range, the calibrated lengths among
  /// them. Ascending.
  [[nodiscard]] std::vector<std::int64_t> lengths(int per_octave) const;

  /// saved_s(0, tokens, tokens + 1) of the loadable part. Needs an empty reason().
  [[nodiscard]] profile::Estimate saved_s(std::int64_t tokens) const;
  /// Of a calibrated tier, by its index in the file.
  [[nodiscard]] profile::Estimate load_s(std::size_t tier, std::int64_t tokens) const;
  /// Load time of `bytes` in contiguous pieces of `piece_bytes`.
  [[nodiscard]] double pieces_s(std::size_t tier, double bytes, double piece_bytes) const;
  /// The bandwidth with which loading from this tier would take saved_s(tokens), with its fixed and
  /// piece costs as they are; nothing where they alone take longer.
  [[nodiscard]] std::optional<double> needed_Bps(std::size_t tier, std::int64_t tokens) const;

  [[nodiscard]] double kv_bytes(std::int64_t tokens) const;
  [[nodiscard]] double pieces(std::size_t tier, std::int64_t tokens) const;

private:
  const profile::BreakEvenFile& m_file;
  std::optional<fit::PrefillCurve> m_prefill;
  std::string m_reason;
  RelativeInterval m_saved;
  std::vector<std::optional<fit::LoadFit>> m_loads; ///< by tier
  std::vector<RelativeInterval> m_load_intervals;   ///< by tier
};

} // namespace breakeven::report
