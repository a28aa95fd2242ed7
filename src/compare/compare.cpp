#include "compare/compare.hpp"

#include "compare/evidence.hpp"
#include "compare/pairs.hpp"
#include "compare/significance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace breakeven::compare {
namespace {

/// Quantities with the evidence on them, in one order.
struct Family {
  std::vector<Quantity> quantities;
  std::vector<Evidence> evidence;
};

void correct(Family& family) {
  std::vector<double> p;
  std::vector<std::size_t> index;
  for (std::size_t i = 0; i < family.evidence.size(); ++i)
    if (family.evidence[i].judged) {
      p.push_back(family.evidence[i].p);
      index.push_back(i);
    }
  const std::vector<double> corrected = holm(p);
  for (std::size_t i = 0; i < index.size(); ++i)
    family.quantities[index[i]].p = corrected[i];
}

void tally(Comparison& comparison) {
  Counts& counts = comparison.counts;
  for (const Quantity& quantity : comparison.quantities) {
    std::size_t* const of_verdict[] = {&counts.same, &counts.faster, &counts.slower,
                                       &counts.changed, &counts.inconclusive};
    ++*of_verdict[static_cast<int>(quantity.verdict)];
    if (quantity.lost) ++counts.lost;
  }
  if (!comparison.comparable())
    comparison.overall = Overall::incomparable;
  else if (counts.slower + counts.lost > 0)
    comparison.overall = Overall::regressed;
  else if (counts.changed > 0)
    comparison.overall = Overall::changed;
  else if (counts.faster > 0)
    comparison.overall = Overall::improved;
  else if (counts.same > counts.inconclusive && !comparison.doubted)
    comparison.overall = Overall::same;
}

/// Quantities of one group stay together, in the order in which groups first appear.
void sort_by_group(std::vector<Quantity>& quantities) {
  std::vector<std::string> groups;
  for (const Quantity& quantity : quantities)
    if (std::find(groups.begin(), groups.end(), quantity.group) == groups.end())
      groups.push_back(quantity.group);
  const auto rank = [&](const Quantity& quantity) {
    return std::find(groups.begin(), groups.end(), quantity.group) - groups.begin();
  };
  std::stable_sort(quantities.begin(), quantities.end(),
                   [&](const Quantity& a, const Quantity& b) { return rank(a) < rank(b); });
}

bool has_warning(const Input& input, const char* code) {
  return std::any_of(input.file.warnings.begin(), input.file.warnings.end(),
                     [&](const profile::Warning& warning) { return warning.code == code; });
}

/// A machine that did other work at the same time looks slower or faster than it is.
void doubt_busy_runs(const Input& base, const Input& next, Comparison& comparison) {
  const bool in_base = has_warning(base, "busy"), in_next = has_warning(next, "busy");
  if (!in_base && !in_next) return;
  for (Quantity& quantity : comparison.quantities) {
    const bool timed = quantity.compared || quantity.name == "break-even length";
    if (!timed || quantity.verdict == Verdict::same || quantity.verdict == Verdict::inconclusive)
      continue;
    quantity.reason = fmt::format(
        "{}, but other processes used the CPUs while {} measured: calibrate again on an "
        "idle machine",
        to_string(quantity.verdict),
        in_base && in_next ? "both files were"
        : in_base          ? "BASE was"
                           : "NEW was");
    quantity.verdict = Verdict::inconclusive;
    comparison.doubted = true;
  }
}

std::string plural(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, count == 1 ? "quantity is" : "quantities are", what);
}

} // namespace

const char* to_string(Verdict verdict) {
  constexpr std::array names = {"same", "faster", "slower", "changed", "inconclusive"};
  return names[static_cast<std::size_t>(verdict)];
}

const char* to_string(Overall overall) {
  constexpr std::array names = {"same",      "improved",     "changed",
                                "regressed", "inconclusive", "not comparable"};
  return names[static_cast<std::size_t>(overall)];
}

bool Comparison::comparable() const {
  return std::none_of(differences.begin(), differences.end(), [](const Difference& difference) {
    return difference.blocking && !difference.what.starts_with("tier ");
  });
}

Comparison compare(const Input& base, const Input& next, const Options& options) {
  Comparison comparison;
  comparison.differences = differences_of(base, next);
  Pairs pairs = pair_up(base.file, next.file, comparison.differences);
  Family family;
  weigh_sampled(pairs.sampled, options, family.quantities, family.evidence);
  weigh_fitted(pairs.fitted, options, family.quantities, family.evidence);
  correct(family);
  for (std::size_t i = 0; i < family.quantities.size(); ++i) {
    Quantity& quantity = family.quantities[i];
    decide(quantity, family.evidence[i], options);
    if (quantity.verdict != Verdict::faster && quantity.verdict != Verdict::slower) continue;
    const bool of_tier = quantity.group.starts_with("tier ");
    const std::string tier = of_tier ? quantity.group.substr(5) : "";
    if (const std::string why = likely_reason(base.file, next.file, tier); !why.empty())
      quantity.reason += (quantity.reason.empty() ? "" : "; ") + why;
  }
  comparison.quantities = judge_break_even(base.file, next.file, comparison.differences, options);
  comparison.quantities.insert(comparison.quantities.end(), pairs.lone.begin(), pairs.lone.end());
  comparison.quantities.insert(comparison.quantities.end(), family.quantities.begin(),
                               family.quantities.end());
  doubt_busy_runs(base, next, comparison);
  sort_by_group(comparison.quantities);
  comparison.differences.insert(comparison.differences.end(), pairs.unmatched.begin(),
                                pairs.unmatched.end());
  tally(comparison);
  return comparison;
}

std::string failure(const Comparison& comparison, FailOn fail_on) {
  const Counts& counts = comparison.counts;
  if (!comparison.comparable()) return "the files cannot be compared";
  if (counts.slower > 0) return plural(counts.slower, " slower");
  if (counts.lost > 0) return plural(counts.lost, " lost");
  if (fail_on == FailOn::regressed) return "";
  if (counts.changed > 0) return plural(counts.changed, " changed");
  if (counts.faster > 0) return plural(counts.faster, " faster");
  if (fail_on == FailOn::changed) return "";
  if (counts.inconclusive > 0) return plural(counts.inconclusive, " inconclusive");
  return counts.same == 0 ? "nothing could be compared" : "";
}

} // namespace breakeven::compare
