#pragma once

#include "measure/statistics.hpp"
#include "profile/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Does what a break-even file says hold on this node, now?
namespace breakeven::verify {

/// Why a point is measured.
enum class Place { below, at, above, shortest, between, longest, partial, further };
const char* to_string(Place place); ///< "just below", "at", ...

/// One hit to try both ways: the tier holds the first `cached` of `prompt` tokens, nothing is
/// resident.
struct Question {
  std::size_t tier = 0; ///< index in BreakEvenFile::tiers
  std::int64_t cached = 0, prompt = 0;
  Place place = Place::at;
  /// Posed as calibration poses it: all of the prompt but one token is cached.
  [[nodiscard]] bool whole() const { return prompt == cached + 1; }
};

enum class Winner { load, recompute, tie };
const char* to_string(Winner winner);

/// A time that the file predicts beside the time that it took.
struct Timing {
  double predicted_s = 0;
  measure::MedianInterval measured; ///< 95 %, widened where there are few samples
  std::vector<double> samples_s;
  /// (predicted - measured) / measured.
  [[nodiscard]] double error() const {
    return measured.median > 0 ? predicted_s / measured.median - 1 : 0;
  }
};

struct Point {
  Question question;
  Timing hit;       ///< load the prefix, then prefill the rest over it
  Timing recompute; ///< prefill of everything
  double predicted_load_s = 0, measured_load_s = 0; ///< the load within `hit`
  Winner predicted = Winner::tie, measured = Winner::tie;
  bool decides_load = false; ///< what decide() answers to this request
};

enum class Outcome { confirmed, moved, cannot_say, no_claim };
const char* to_string(Outcome outcome); ///< "confirmed", "moved", "cannot say", "no claim"

struct TierReport {
  std::string name;
  profile::BreakEven claim;
  Outcome outcome = Outcome::cannot_say;
  std::string reason; ///< one sentence, or a part of one behind "cannot say:"
  /// The crossing by the measured times; 0 = none within the lengths calibrated.
  std::int64_t crossing_tokens = 0;
  bool crossing_known = false;
};

struct Report {
  std::string status; ///< of the file: measured, predicted, ...
  std::string model, device, device_name;
  std::vector<std::string> tier_names;  ///< of the file, by Question::tier
  std::vector<std::string> differences; ///< between the node of the file and this one
  std::vector<TierReport> tiers;
  std::vector<Point> points;
  std::vector<std::string> left_out; ///< sentences
  std::vector<std::string> warnings;
  std::size_t timings = 0;                  ///< distinct times predicted and measured
  double median_error = 0, worst_error = 0; ///< relative, over them, without sign
  double budget_s = 0, duration_s = 0;
};

/// 0 = every claim is confirmed, 1 = one has moved, 5 = none has and one cannot be told.
int exit_code(const Report& report);

} // namespace breakeven::verify
