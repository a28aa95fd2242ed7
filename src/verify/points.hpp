#pragma once

#include "verify/forecast.hpp"
#include "verify/report.hpp"

#include <functional>
#include <string>
#include <vector>

namespace breakeven::verify {

/// Seconds of wall time that measuring a question once takes, both ways.
struct CostModel {
  const Forecast& forecast;
  const profile::BreakEvenFile& file;
  /// Devices run a sample of the layers of a long step and scale it.
  [[nodiscard]] double prefill_s(std::int64_t context, std::int64_t new_tokens) const;
  [[nodiscard]] double hit_s(const Question& question) const;
};

struct Selection {
  std::vector<Question> questions; ///< what decides first comes first
  std::vector<Question> spare;     ///< did not fit, in the same order
  std::vector<std::string> left_out;
};

/// All questions worth asking about the tiers in `tiers` (indices), most decisive first, without
/// regard to time: just below, at and above each break-even length; shortest, longest and one
/// between for always, never and inconclusive; then hits of 10, 50 and 90 % of 8k and 32k prompts.
Selection all_questions(const profile::BreakEvenFile& file, const std::vector<std::size_t>& tiers);

/// Keeps, in order, what fits into `seconds` at `runs` runs each, and the cheapest question of each
/// tier in any case; the others are spare. Long lengths of always and never are replaced by the
/// longest that fits.
Selection within(Selection selection, const CostModel& cost, double seconds, int runs);

/// Groups what was left out of the same prompt and for the same reason into one sentence.
void leave_out(Selection& selection, const profile::BreakEvenFile& file,
               const std::vector<Question>& questions, const std::string& why);

/// The nearest length that a load can have: a multiple of `unit`, down to one, within the
/// calibrated lengths, then down to a checkpoint of a hybrid model.
std::int64_t loadable_near(const profile::BreakEvenFile& file, double tokens);

} // namespace breakeven::verify
