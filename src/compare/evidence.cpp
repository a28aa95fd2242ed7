#include "compare/evidence.hpp"

#include "compare/significance.hpp"
#include "measure/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace breakeven::compare {
namespace {

using profile::Estimate;
using profile::Measurement;

constexpr std::size_t fewest_samples = 3;
/// A measurement's own spread counts as n - 1 observations, its group's as this many: few samples
/// can lie close together by chance. Source: G. K. Smyth, Statistical Applications in Genetics and
/// Molecular Biology 3 (2004), for the idea.
constexpr double group_weight = 5;
/// Samples of one run agree with each other more than with the next run's, so that more of them
/// than this say no more: between runs of an unchanged node a median varies about as much as that
/// of 10 independent samples, be the machine quiet or noisy (docs/compare.md).
constexpr double most_independent = 10;
/// Points of one run vary together: as many of them as of a group count as independent.
constexpr double independent_points = 2;
constexpr double median_inefficiency = 1.2533; // sqrt(pi / 2): standard error against the mean's
/// Drift that a group shows by the scatter of its own ratios is believed up to here; more is
/// rather a change that touches some of its points.
constexpr double largest_scatter = 0.05;
constexpr std::size_t enough_points = 4; ///< for a ratio of the whole group
constexpr std::size_t enough_pairs = 8;  ///< to tell a group's scatter
/// A quantity of which not even such a change would show says nothing.
constexpr double hopeless = 1.0;

double z_of(const Options& options) {
  return measure::normal_z(0.5 + options.confidence / 2);
}

double usual_noise(const std::vector<const Measurement*>& measurements) {
  std::vector<double> noise;
  for (const Measurement* m : measurements)
    if (m->samples_s.size() >= fewest_samples)
      noise.push_back(measure::relative_noise(m->samples_s));
  return measure::median(noise);
}

/// Relative standard deviation of the median within its run.
double deviation_of(const Measurement& m, double group_noise, const Options& options,
                    measure::Random& random) {
  const std::size_t n = m.samples_s.size();
  const double z = z_of(options);
  if (n == 0) // predicted, published or stripped: only the interval is left
    return m.lo_s > 0 ? std::log(m.hi_s / m.lo_s) / 2 / z : 0;
  const double count = static_cast<double>(n), independent = std::min(count, most_independent);
  const double own = log_median_deviation(m.samples_s, options.replicates, random) *
                     std::sqrt(count / independent);
  const double usual = median_inefficiency * group_noise / std::sqrt(independent);
  const double freedom = count - 1;
  return std::sqrt((freedom * own * own + group_weight * usual * usual) / (freedom + group_weight));
}

std::string which(bool in_base, bool in_next) {
  return in_base && in_next ? "both files" : in_base ? "BASE" : "NEW";
}

/// Empty, or why these two cannot be judged.
std::string too_little(const Measurement& base, const Measurement& next) {
  if (!(base.median_s > 0) || !(next.median_s > 0))
    return fmt::format("no positive time in {}", which(!(base.median_s > 0), !(next.median_s > 0)));
  const auto count = [](const Measurement& m) { return m.samples_s.size(); };
  const auto few = [&](const Measurement& m) { return count(m) > 0 && count(m) < fewest_samples; };
  if (few(base) || few(next)) {
    const std::size_t fewest = few(base) && few(next) ? std::min(count(base), count(next))
                               : few(base)            ? count(base)
                                                      : count(next);
    return fmt::format("{} in {}: too few to tell a change from chance",
                       fewest == 1 ? "one sample" : fmt::format("{} samples", fewest),
                       which(few(base), few(next)));
  }
  const auto bare = [&](const Measurement& m) { return count(m) == 0 && !(m.hi_s > m.lo_s); };
  if ((bare(base) || bare(next)) && base.median_s != next.median_s)
    return fmt::format("no samples and no interval in {}", which(bare(base), bare(next)));
  return "";
}

void fill(Side& side, double value, double relative_deviation, double z, std::int64_t samples) {
  side.present = true;
  side.value = value;
  side.lo = value * std::exp(-z * relative_deviation);
  side.hi = value * std::exp(z * relative_deviation);
  side.samples = samples;
}

void finish(Quantity& quantity, Evidence& e, const Options& options) {
  const double deviation = std::sqrt(e.base_deviation * e.base_deviation +
                                     e.next_deviation * e.next_deviation + 2 * e.drift * e.drift);
  e.judged = true;
  e.p = deviation > 0 ? normal_p(e.difference / deviation) : e.difference == 0 ? 1 : 0;
  quantity.compared = true;
  quantity.rank_p = e.rank_p;
  const double sign = quantity.unit == Unit::bytes_per_second ? -1 : 1, z = z_of(options);
  if (e.logarithmic) {
    quantity.ratio = std::exp(sign * e.difference);
    quantity.ratio_lo = std::exp(sign * e.difference - z * deviation);
    quantity.ratio_hi = std::exp(sign * e.difference + z * deviation);
  } else {
    quantity.ratio = 1 + e.effect;
    quantity.ratio_lo = std::max(0.0, 1 + e.effect - z * deviation * e.per_unit);
    quantity.ratio_hi = 1 + e.effect + z * deviation * e.per_unit;
  }
}

class SampledGroup {
public:
  SampledGroup(const Options& options, measure::Random& random)
      : m_options(options), m_random(random) {}

  void weigh(const std::vector<const SampledPair*>& pairs, std::vector<Quantity>& quantities,
             std::vector<Evidence>& evidence) {
    std::vector<const Measurement*> bases, nexts;
    for (const SampledPair* pair : pairs) {
      bases.push_back(pair->base);
      nexts.push_back(pair->next);
    }
    const double base_noise = usual_noise(bases), next_noise = usual_noise(nexts);
    const std::size_t first = quantities.size();
    for (const SampledPair* pair : pairs) {
      auto [quantity, e] = one(*pair, base_noise, next_noise);
      quantities.push_back(std::move(quantity));
      evidence.push_back(std::move(e));
    }
    add_scatter(evidence, first);
    for (std::size_t i = first; i < quantities.size(); ++i)
      complete(*pairs[i - first], quantities[i], evidence[i]);
    add_whole(*pairs.front(), quantities, evidence, first);
  }

private:
  std::pair<Quantity, Evidence> one(const SampledPair& pair, double base_noise, double next_noise) {
    Quantity quantity;
    quantity.group = pair.group;
    quantity.name = pair.name;
    Evidence e;
    e.unjudged = pair.blocked.empty() ? too_little(*pair.base, *pair.next) : pair.blocked;
    const RunToRun& drift = m_options.run_to_run;
    e.drift = pair.source == Source::compute ? drift.compute : drift.load;
    if (pair.base->median_s > 0) e.wake_up = drift.wake_up_s / pair.base->median_s;
    e.drift = std::hypot(e.drift, e.wake_up);
    e.base_deviation = deviation_of(*pair.base, base_noise, m_options, m_random);
    e.next_deviation = deviation_of(*pair.next, next_noise, m_options, m_random);
    if (!e.unjudged.empty()) return {quantity, e};
    e.difference = std::log(pair.next->median_s / pair.base->median_s);
    e.effect = std::expm1(e.difference);
    e.rank_p = rank_test_p(pair.base->samples_s, pair.next->samples_s);
    return {quantity, e};
  }

  /// Ratios of one group that scatter more than their samples explain show how far a single point
  /// moves between runs.
  void add_scatter(std::vector<Evidence>& evidence, std::size_t first) const {
    std::vector<double> differences, within;
    for (std::size_t i = first; i < evidence.size(); ++i) {
      const Evidence& e = evidence[i];
      if (!e.unjudged.empty()) continue;
      differences.push_back(e.difference);
      within.push_back(e.base_deviation * e.base_deviation + e.next_deviation * e.next_deviation);
    }
    if (differences.size() < enough_pairs) return;
    const double spread = 1.4826 * measure::median_absolute_deviation(differences);
    const double beyond = std::max(0.0, spread * spread - measure::median(within)) / 2;
    const double scatter = std::min(std::sqrt(beyond), largest_scatter);
    for (std::size_t i = first; i < evidence.size(); ++i)
      evidence[i].drift = std::max(evidence[i].drift, scatter);
  }

  /// The usual ratio of the group: a change of all points by the same factor shows here long before
  /// it shows at one of them. What one run adds to all points alike stays.
  void add_whole(const SampledPair& pair, std::vector<Quantity>& quantities,
                 std::vector<Evidence>& evidence, std::size_t first) const {
    std::vector<double> differences, wake_up;
    double base = 0, next = 0;
    for (std::size_t i = first; i < evidence.size(); ++i) {
      const Evidence& e = evidence[i];
      if (!e.judged) continue;
      differences.push_back(e.difference);
      base += e.base_deviation * e.base_deviation;
      next += e.next_deviation * e.next_deviation;
      wake_up.push_back(e.wake_up);
    }
    if (differences.size() < enough_points) return;
    const double count = static_cast<double>(differences.size());
    Quantity quantity;
    quantity.group = pair.group;
    quantity.name = whole_group;
    Evidence e;
    e.difference = measure::median(differences);
    e.effect = std::expm1(e.difference);
    e.base_deviation = std::sqrt(base / count / independent_points);
    e.next_deviation = std::sqrt(next / count / independent_points);
    const RunToRun& drift = m_options.run_to_run;
    e.drift = pair.source == Source::compute ? drift.compute : drift.load;
    e.wake_up = measure::median(wake_up);
    e.drift = std::hypot(e.drift, e.wake_up);
    finish(quantity, e, m_options);
    quantities.push_back(std::move(quantity));
    evidence.push_back(std::move(e));
  }

  void complete(const SampledPair& pair, Quantity& quantity, Evidence& e) const {
    const double z = z_of(m_options);
    const auto count = [](const Measurement& m) {
      return static_cast<std::int64_t>(m.samples_s.size());
    };
    fill(quantity.base, pair.base->median_s, std::hypot(e.base_deviation, e.drift), z,
         count(*pair.base));
    fill(quantity.next, pair.next->median_s, std::hypot(e.next_deviation, e.drift), z,
         count(*pair.next));
    if (e.unjudged.empty()) finish(quantity, e, m_options);
  }

  const Options& m_options;
  measure::Random& m_random;
};

/// Factor on an interval that counts `samples` of each point as independent.
double inflation(std::int64_t samples) {
  return std::sqrt(std::max(1.0, static_cast<double>(samples) / most_independent));
}

/// A bandwidth: judged by the logarithm of its ratio.
void weigh_rate(const FittedPair& pair, const Options& options, Quantity& quantity, Evidence& e) {
  const double z = z_of(options);
  const auto deviation = [&](const Estimate& x) {
    return x.lo > 0 ? std::log(x.hi / x.lo) / 2 / z : 1.0;
  };
  e.base_deviation = deviation(pair.base) * inflation(pair.base_each);
  e.next_deviation = deviation(pair.next) * inflation(pair.next_each);
  e.drift = options.run_to_run.load;
  fill(quantity.base, pair.base.value, std::hypot(e.base_deviation, e.drift), z, pair.base_samples);
  fill(quantity.next, pair.next.value, std::hypot(e.next_deviation, e.drift), z, pair.next_samples);
  e.difference = std::log(pair.base.value / pair.next.value);
  e.effect = std::expm1(e.difference);
}

/// A constant that may be 0: judged by its difference, against what drift of the loads that it is
/// part of does to it.
void weigh_constant(const FittedPair& pair, const Options& options, Quantity& quantity,
                    Evidence& e) {
  const double z = z_of(options);
  e.logarithmic = false;
  e.base_deviation = (pair.base.hi - pair.base.lo) / 2 / z * inflation(pair.base_each);
  e.next_deviation = (pair.next.hi - pair.next.lo) / 2 / z * inflation(pair.next_each);
  e.drift = std::hypot(options.run_to_run.load * pair.load_s, options.run_to_run.wake_up_s) /
            pair.multiple;
  e.difference = pair.next.value - pair.base.value;
  const double reference = pair.base.value > 0 ? pair.base.value : pair.load_s / pair.multiple;
  e.per_unit = reference > 0 ? 1 / reference : 0;
  e.effect = e.difference * e.per_unit;
  e.relevance = pair.load_s > 0 && reference > 0 ? reference * pair.multiple / pair.load_s : 1;
  const auto side = [&](Side& out, const Estimate& x, double within, std::int64_t samples) {
    const double half = z * std::hypot(within, e.drift);
    out = {true, x.value, std::max(0.0, x.value - half), x.value + half, samples, ""};
  };
  side(quantity.base, pair.base, e.base_deviation, pair.base_samples);
  side(quantity.next, pair.next, e.next_deviation, pair.next_samples);
}

bool identical(const Estimate& a, const Estimate& b) {
  return a.value == b.value && a.lo == b.lo && a.hi == b.hi;
}

std::string percent(double ratio) {
  return fmt::format("{:.3g} %", 100 * ratio);
}

} // namespace

void weigh_sampled(const std::vector<SampledPair>& pairs, const Options& options,
                   std::vector<Quantity>& quantities, std::vector<Evidence>& evidence) {
  measure::Random random(options.seed);
  std::vector<std::string> groups;
  std::map<std::string, std::vector<const SampledPair*>> members;
  for (const SampledPair& pair : pairs) {
    auto& list = members[pair.group];
    if (list.empty()) groups.push_back(pair.group);
    list.push_back(&pair);
  }
  SampledGroup group(options, random);
  for (const std::string& name : groups)
    group.weigh(members[name], quantities, evidence);
}

void weigh_fitted(const std::vector<FittedPair>& pairs, const Options& options,
                  std::vector<Quantity>& quantities, std::vector<Evidence>& evidence) {
  for (const FittedPair& pair : pairs) {
    Quantity quantity;
    quantity.group = pair.group;
    quantity.name = pair.name;
    quantity.unit = pair.unit;
    Evidence e;
    e.unjudged = pair.blocked;
    const auto bare = [](const Estimate& x) { return !(x.hi > x.lo); };
    if (e.unjudged.empty() && (bare(pair.base) || bare(pair.next)) &&
        !identical(pair.base, pair.next) && pair.base_samples * pair.next_samples == 0)
      e.unjudged =
          fmt::format("no samples and no interval in {}", which(bare(pair.base), bare(pair.next)));
    if (pair.unit == Unit::bytes_per_second)
      weigh_rate(pair, options, quantity, e);
    else
      weigh_constant(pair, options, quantity, e);
    if (e.unjudged.empty()) finish(quantity, e, options);
    quantities.push_back(std::move(quantity));
    evidence.push_back(std::move(e));
  }
}

void decide(Quantity& quantity, const Evidence& e, const Options& options) {
  quantity.verdict = Verdict::inconclusive;
  if (!e.judged) {
    quantity.reason = e.unjudged;
    return;
  }
  const double alpha = 1 - options.confidence;
  const double needed = z_of(options) * (std::hypot(e.base_deviation, e.drift) +
                                         std::hypot(e.next_deviation, e.drift));
  const bool apart = std::abs(e.difference) > needed;
  const bool relevant = std::abs(e.effect) > options.threshold &&
                        std::abs(e.effect) * std::min(1.0, e.relevance) > options.threshold;
  const double shown = e.logarithmic ? std::expm1(std::min(needed, 50.0)) : needed * e.per_unit;
  quantity.detectable =
      std::max({shown, options.threshold, options.threshold / std::min(1.0, e.relevance)});
  if (apart && relevant) {
    if (quantity.p >= alpha)
      quantity.reason = "the intervals are apart, but among so many comparisons this may be chance";
    else if (e.rank_p >= alpha)
      quantity.reason = "the intervals are apart, but the rank test sees no difference";
    else
      quantity.verdict = e.difference > 0 ? Verdict::slower : Verdict::faster;
    return;
  }
  // A fixed cost of next to nothing may double unseen: what counts is the load it is part of.
  const double noise = e.base_deviation + e.next_deviation;
  if (e.logarithmic && e.wake_up < noise && quantity.detectable > hopeless) {
    quantity.reason = fmt::format("too noisy: a change of less than {} would not show",
                                  percent(quantity.detectable));
    return;
  }
  quantity.verdict = Verdict::same;
  if (std::abs(e.effect) <= options.threshold) return;
  quantity.reason = apart ? "too small to matter for a load" : "within the variation between runs";
}

} // namespace breakeven::compare
