#include "fit/fit.hpp"

#include "fit/prefix_search.hpp"
#include "fit/resampler.hpp"
#include "fit/tier_draw.hpp"
#include "fit/verdict.hpp"
#include "support/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace breakeven::fit {

namespace {

/// Relative error that a sum of many predicted steps may have, by the steps measured whole: their
/// mean error, and what is unknown about that mean.
double systematic_error(const profile::Prefill& prefill) {
  double sum = 0, square = 0, count = 0;
  for (const profile::StepCheck& check : prefill.step_checks) {
    if (!std::isfinite(check.relative_error)) continue;
    sum += check.relative_error;
    square += check.relative_error * check.relative_error;
    ++count;
  }
  if (count == 0) return 0;
  const double mean = sum / count;
  return std::sqrt(mean * mean + std::max(0.0, square / count - mean * mean) / count);
}

/// One prefix length of the table.
struct Row {
  std::int64_t prefix = 0, loadable = 0;
  std::vector<double> saved_replicates;
};

/// One calibrated tier while it is solved.
struct Candidate {
  Candidate(std::size_t index_, const profile::Tier& tier, const profile::Model& model,
            const std::vector<std::int64_t>& search, const std::vector<std::int64_t>& table,
            std::uint64_t seed)
      : index(index_), draw(*tier.load, tier.sweep), search_sizes(model, tier.layout, search),
        table_sizes(model, tier.layout, table), random(seed), load_replicates(table.size()) {}

  std::size_t index; ///< in file.tiers
  TierDraw draw;
  LoadSizes search_sizes, table_sizes;
  measure::Random random; ///< its own, so that another tier does not change this one's answer
  std::vector<std::int64_t> lengths;                ///< break-even length of each replicate
  std::vector<std::vector<double>> load_replicates; ///< [row][replicate]
};

class Solver {
public:
  Solver(profile::BreakEvenFile& file, const BreakEvenOptions& options)
      : m_file(file), m_options(options), m_curve(file.prefill, file.model.chunk_tokens),
        m_stride(std::max<std::int64_t>(1, file.model.checkpoint_tokens)) {
    m_table = file.calibrated_lengths;
    std::sort(m_table.begin(), m_table.end());
    m_table.erase(std::unique(m_table.begin(), m_table.end()), m_table.end());
    if (m_table.empty() || m_table.front() < 1)
      throw error(error_kind::bad_input,
                  "the break-even search needs calibrated lengths of at least 1 token");
    if (m_table.back() / file.model.chunk_tokens > most_steps)
      throw error(error_kind::bad_input,
                  "a calibrated length of " + std::to_string(m_table.back()) +
                      " tokens takes too many steps of " + std::to_string(file.model.chunk_tokens) +
                      " tokens to search");
  }

  void run() {
    prepare_rows();
    prepare_candidates();
    draw_replicates();
    answer_tiers();
    answer_lengths();
    answer_frontier();
  }

private:
  static constexpr std::int64_t most_steps = std::int64_t{1} << 17;

  void prepare_rows() {
    for (const std::int64_t prefix : m_table)
      m_rows.push_back({prefix, loadable_tokens(m_file.model, prefix), {}});
  }

  void prepare_candidates() {
    m_search = search_lengths(m_file.model, m_curve, m_file.tiers, m_table.front(), m_table.back());
    std::vector<std::int64_t> loadable;
    for (const Row& row : m_rows)
      loadable.push_back(row.loadable);
    for (std::size_t i = 0; i < m_file.tiers.size(); ++i) {
      profile::Tier& tier = m_file.tiers[i];
      tier.break_even = {};
      tier.break_even.confidence = m_options.confidence;
      std::string reason = tier.reason;
      if (tier.load && tier.status != "uncalibrated") {
        reason = TierDraw::unusable(*tier.load);
        if (reason.empty()) {
          m_candidates.emplace_back(i, tier, m_file.model, m_search, loadable,
                                    m_options.seed + 0x9e3779b97f4a7c15 * (i + 1));
          continue;
        }
      }
      tier.break_even.reason = reason.empty() ? "no load model was fitted" : reason;
    }
  }

  double saved_s(const PrefillCurve& curve, const Row& row) const {
    return curve.saved_s(0, row.loadable, row.prefix + 1);
  }

  void draw_replicates() {
    measure::Random random(m_options.seed);
    const double systematic = systematic_error(m_file.prefill);
    for (int r = 0; r < m_options.replicates; ++r) {
      const PrefillCurve curve(m_file.prefill, m_file.model.chunk_tokens, random);
      const double factor = std::exp(systematic * draw_normal(random));
      for (Row& row : m_rows)
        row.saved_replicates.push_back(factor * saved_s(curve, row));
      std::vector<double> saved = saved_at(curve, m_file.model.chunk_tokens, m_search);
      for (double& seconds : saved)
        seconds *= factor;
      for (Candidate& tier : m_candidates) {
        const auto fit = tier.draw.replicate(tier.random);
        if (!fit) continue;
        tier.lengths.push_back(
            smallest_winning(m_search, saved, tier.search_sizes, *fit, m_stride));
        for (std::size_t i = 0; i < m_rows.size(); ++i)
          tier.load_replicates[i].push_back(tier.table_sizes.load_s(*fit, i));
      }
    }
  }

  void answer_tiers() {
    const std::vector<double> saved = saved_at(m_curve, m_file.model.chunk_tokens, m_search);
    for (Candidate& tier : m_candidates) {
      const std::int64_t central =
          smallest_winning(m_search, saved, tier.search_sizes, tier.draw.central(), m_stride);
      const SearchedRange range{m_search.empty() ? m_table.front() : m_search.front(),
                                m_table.back(), m_options.replicates};
      m_file.tiers[tier.index].break_even =
          judge(central, tier.lengths, range, m_options.confidence);
    }
  }

  void answer_lengths() {
    m_file.lengths.clear();
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
      const Row& row = m_rows[i];
      profile::LengthAnswer answer;
      answer.prefix_tokens = row.prefix;
      answer.kv_bytes = kv_bytes(m_file.model, row.loadable);
      answer.saved_s =
          not_negative(estimate(saved_s(m_curve, row), row.saved_replicates, m_options.confidence));
      const double rate = static_cast<double>(answer.kv_bytes) / answer.saved_s.value;
      if (answer.saved_s.value > 0 && std::isfinite(rate)) answer.break_even_Bps = rate;
      for (const Candidate& tier : m_candidates) {
        const double load_s = tier.table_sizes.load_s(tier.draw.central(), i);
        const profile::Estimate load =
            estimate(load_s, tier.load_replicates[i], m_options.confidence);
        answer.tiers.push_back({m_file.tiers[tier.index].name, load,
                                row.loadable > 0 ? winner(load, answer.saved_s) : "recompute"});
      }
      m_file.lengths.push_back(std::move(answer));
    }
  }

  static profile::Estimate not_negative(profile::Estimate e) {
    return {std::max(0.0, e.value), std::max(0.0, e.lo), std::max(0.0, e.hi)};
  }

  static std::string winner(const profile::Estimate& load, const profile::Estimate& saved) {
    if (load.hi < saved.lo) return "load";
    if (load.lo > saved.hi) return "recompute";
    return "tie";
  }

  void answer_frontier() {
    m_file.frontier.clear();
    for (const Candidate& candidate : m_candidates) {
      const profile::Tier& tier = m_file.tiers[candidate.index];
      for (const std::int64_t prompt : m_table) {
        const std::int64_t cached = smallest_winning_cached(m_file.model, tier.layout, m_curve,
                                                            candidate.draw.central(), prompt);
        const double fraction =
            cached == no_length ? 2 : static_cast<double>(cached) / static_cast<double>(prompt);
        m_file.frontier.push_back({tier.name, prompt, fraction});
      }
    }
  }

  profile::BreakEvenFile& m_file;
  BreakEvenOptions m_options;
  PrefillCurve m_curve;
  std::int64_t m_stride;
  std::vector<std::int64_t> m_table, m_search;
  std::vector<Row> m_rows;
  std::vector<Candidate> m_candidates;
};

} // namespace

void solve(profile::BreakEvenFile& file, const BreakEvenOptions& options) {
  if (!(options.confidence > 0 && options.confidence < 1) || options.replicates < 0)
    throw error(error_kind::usage, "the confidence of break-even lengths must lie between 0 and 1, "
                                   "and the replicates must not be negative");
  Solver(file, options).run();
}

} // namespace breakeven::fit
