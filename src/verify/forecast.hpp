#pragma once

#include "breakeven/policy_file.hpp"
#include "profile/profile.hpp"
#include "verify/report.hpp"

namespace breakeven::verify {

/// What connectors compute from a break-even file, through the public library.
class Forecast {
public:
  /// Throws policy_file_error when the library refuses what the tool accepts.
  explicit Forecast(const profile::BreakEvenFile& file);

  [[nodiscard]] double load_s(std::size_t tier, std::int64_t tokens) const;
  [[nodiscard]] double prefill_s(std::int64_t context, std::int64_t new_tokens) const;
  [[nodiscard]] double hit_s(const Question& question) const;
  /// hit_s < recompute_s.
  [[nodiscard]] bool load_wins(const Question& question) const;
  [[nodiscard]] bool decides_load(const Question& question) const;
  [[nodiscard]] const PolicyFacts& facts() const { return m_policy.facts; }

private:
  PolicyFile m_policy;
};

} // namespace breakeven::verify
