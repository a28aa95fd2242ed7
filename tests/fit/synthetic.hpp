#pragma once

#include "fit/fit.hpp"
#include "measure/statistics.hpp"

#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

/// Break-even files with known truth for the tests of this room.
namespace breakeven::synthetic {

inline double normal(measure::Random& random) {
  const double u = 1 - random.uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * random.uniform());
}

/// A measurement of `seconds` with multiplicative noise; noise 0 gives equal samples.
inline profile::Measurement sampled(double seconds, double noise, int count,
                                    measure::Random& random) {
  profile::Measurement m;
  for (int i = 0; i < count; ++i)
    m.samples_s.push_back(seconds * std::exp(noise * normal(random)));
  const measure::MedianInterval interval = measure::median_interval(m.samples_s);
  m.median_s = interval.median;
  m.lo_s = interval.lo;
  m.hi_s = interval.hi;
  m.count = count;
  m.stopped = "converged";
  return m;
}

struct Noise {
  double relative = 0;
  int samples = 12;
};

/// Dense: weight streaming plus a rate; attention: new * (context + new / 2) pairs.
struct Engine {
  double weights_s = 0.02, per_token_s = 2e-4, per_pair_s = 2e-8;
  std::int64_t chunk_tokens = 2048;
  double dense(double n) const { return std::max(weights_s, per_token_s * n); }
  double attention(double c, double n) const { return per_pair_s * n * (c + n / 2); }
};

inline profile::Prefill prefill(const Engine& engine, const Noise& noise, measure::Random& random,
                                std::int64_t max_context = 32768) {
  profile::Prefill p;
  for (std::int64_t n = 1; n < engine.chunk_tokens; n *= 4)
    p.dense.new_tokens.push_back(n);
  p.dense.new_tokens.push_back(engine.chunk_tokens);
  const auto measured = [&](double seconds) {
    return sampled(seconds, noise.relative, noise.samples, random);
  };
  for (const std::int64_t n : p.dense.new_tokens)
    p.dense.seconds.push_back(measured(engine.dense(static_cast<double>(n))));
  profile::AttentionGrid grid;
  grid.layer_kind = "full";
  grid.context_tokens = {0, max_context / 4, max_context};
  grid.new_tokens = {1, engine.chunk_tokens / 3 + 1, engine.chunk_tokens};
  for (const std::int64_t c : grid.context_tokens) {
    grid.seconds.emplace_back();
    for (const std::int64_t n : grid.new_tokens)
      grid.seconds.back().push_back(
          measured(engine.attention(static_cast<double>(c), static_cast<double>(n))));
  }
  p.attention.push_back(grid);
  return p;
}

inline std::vector<profile::SweepPoint> sweep(const fit::LoadFit& truth, const Noise& noise,
                                              measure::Random& random, std::int64_t in_flight = 1) {
  std::vector<profile::SweepPoint> points;
  for (const std::int64_t bytes :
       {std::int64_t{1} << 20, std::int64_t{1} << 24, std::int64_t{1} << 26, std::int64_t{1} << 28})
    for (const std::int64_t pieces : {1, 16, 256}) {
      profile::SweepPoint point;
      point.bytes = bytes;
      point.pieces = pieces;
      point.in_flight = in_flight;
      point.seconds = sampled(truth.load_s(bytes, pieces), noise.relative, noise.samples, random);
      points.push_back(point);
    }
  return points;
}

inline profile::Tier tier(const std::string& name, const fit::LoadFit& truth, const Noise& noise,
                          measure::Random& random) {
  profile::Tier t;
  t.name = t.spec = name;
  t.kind = "memory";
  t.layout = {"block over all layers", 256, 1};
  t.sweep = sweep(truth, noise, random);
  return t;
}

inline profile::BreakEvenFile file(const Engine& engine, const Noise& noise,
                                   measure::Random& random) {
  profile::BreakEvenFile f;
  f.status = "measured";
  f.model.kv_bytes_per_token = 32768;
  f.model.chunk_tokens = engine.chunk_tokens;
  f.prefill = prefill(engine, noise, random);
  f.calibrated_lengths = {128, 512, 1024, 2048, 4096, 8192, 16384, 32768};
  return f;
}

} // namespace breakeven::synthetic
