#pragma once

#include "support/catch.hpp"

#include "compare/compare.hpp"
#include "measure/statistics.hpp"
#include "support/sample_file.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace breakeven::test {

inline double normal(measure::Random& random) {
  return std::sqrt(-2 * std::log(1 - random.uniform())) *
         std::cos(2 * std::numbers::pi * random.uniform());
}

/// What one calibration of a node shows of it.
struct Run {
  std::uint64_t seed = 1;
  int samples = 12;
  double noise = 0.02;          ///< relative, of one sample
  double drift = 0;             ///< relative, of the whole run
  double compute = 1, load = 1; ///< true factor on times
};

inline void resample(profile::Measurement& m, double factor, const Run& run,
                     measure::Random& random) {
  const double truth = m.median_s * factor;
  m.samples_s.clear();
  for (int i = 0; i < run.samples; ++i)
    m.samples_s.push_back(truth * std::exp(run.noise * normal(random)));
  const measure::MedianInterval interval = measure::median_interval(m.samples_s);
  m.median_s = interval.median;
  m.lo_s = interval.lo;
  m.hi_s = interval.hi;
  m.count = static_cast<std::int64_t>(m.samples_s.size());
}

/// The sample file as this run would have measured it.
inline profile::BreakEvenFile measured_in(const Run& run) {
  measure::Random random(run.seed);
  profile::BreakEvenFile file = sample_file();
  const double drift = std::exp(run.drift * normal(random));
  const double compute = run.compute * drift, load = run.load * drift;
  for (profile::Measurement& m : file.prefill.dense.seconds)
    resample(m, compute, run, random);
  for (profile::AttentionGrid& grid : file.prefill.attention)
    for (auto& row : grid.seconds)
      for (profile::Measurement& m : row)
        resample(m, compute, run, random);
  for (profile::Tier& tier : file.tiers) {
    for (profile::SweepPoint& point : tier.sweep)
      resample(point.seconds, load, run, random);
    const auto scale = [&](profile::Estimate& e, double by) {
      e = {e.value * by, e.lo * by, e.hi * by};
    };
    scale(tier.load->fixed_s, load);
    scale(tier.load->piece_s, load);
    for (profile::BandwidthPoint& point : tier.load->bandwidth)
      scale(point.bandwidth_Bps, 1 / load);
    tier.break_even.tokens = std::llround(112 * load / compute);
    tier.break_even.lo_tokens = std::llround(100 * load / compute);
    tier.break_even.hi_tokens = std::llround(125 * load / compute);
  }
  return file;
}

inline compare::Input input(profile::BreakEvenFile file, const std::string& name = "file.json") {
  return {name, "1.0.0", std::move(file)};
}

inline const compare::Quantity& find(const compare::Comparison& comparison,
                                     const std::string& group, const std::string& name) {
  const auto found =
      std::find_if(comparison.quantities.begin(), comparison.quantities.end(),
                   [&](const compare::Quantity& q) { return q.group == group && q.name == name; });
  REQUIRE(found != comparison.quantities.end());
  return *found;
}

} // namespace breakeven::test
