#pragma once

#include "calibrate/progress.hpp"
#include "compute/compute.hpp"
#include "tier/tier.hpp"
#include "verify/chain.hpp"
#include "verify/points.hpp"
#include "verify/report.hpp"

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace breakeven::verify {

/// The chains of all questions, timed in random order within what is left of the budget. Borrows
/// the compute and the tiers.
class Session {
public:
  struct Tools {
    compute::Compute& compute;
    const std::map<std::size_t, tier::Tier*>& tiers; ///< by index in the file
    const profile::BreakEvenFile& file;
    const Forecast& forecast;
    calibrate::Progress& progress;
    std::stop_token stop;
    double budget_s = 0;
  };
  explicit Session(Tools tools) : m_tools(std::move(tools)) {}

  /// Builds the questions' chains and runs each once, in order, as long as two more rounds of all
  /// would still fit before `until_s` of the progress clock. Questions that do not fit are
  /// returned. `at_least_one`: the first of each tier need only fit once.
  std::vector<Question> add(const std::vector<Question>& questions, double until_s,
                            bool at_least_one);

  /// Samples everything added so far, interleaved, until `until_s`.
  void sample(double until_s);

  [[nodiscard]] std::vector<Point> points() const;
  /// Median and worst error over the distinct times, and how many there are.
  void summarise(Report& report) const;

private:
  struct Run {
    std::unique_ptr<Chain> chain;
    double predicted_s = 0;
    double cost_s = 0; ///< wall time of one run
    double weight = 1;
    bool converged = false;
    std::vector<double> samples_s;
  };
  struct Entry {
    Question question;
    std::size_t hit = 0, recompute = 0; ///< in m_runs
  };

  std::size_t make_hit(const Question& question);
  std::size_t recompute_run(std::int64_t prompt);
  Chain::Part step(std::int64_t context, std::int64_t new_tokens);
  std::vector<Chain::Part> steps(std::int64_t context, std::int64_t new_tokens);
  void run_ahead(Run& run, double expected_s);
  [[nodiscard]] double round_s() const;
  [[nodiscard]] double expected_s(const Question& question) const;
  [[nodiscard]] Timing timing(const Run& run, double noise) const;
  [[nodiscard]] double noise() const;
  void stop_here() const;

  Tools m_tools;
  std::map<std::pair<std::int64_t, std::int64_t>, Chain::Part> m_steps;
  std::map<std::int64_t, std::size_t> m_recompute; ///< by prompt
  std::vector<Run> m_runs;
  std::vector<Entry> m_entries;
  double m_expected_s = 0, m_spent_s = 0; ///< of the runs ahead: how far costs are off
  std::uint64_t m_round = 0;
};

} // namespace breakeven::verify
