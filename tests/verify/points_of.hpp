#pragma once

#include "verify/forecast.hpp"
#include "verify/judge.hpp"
#include "verify/report.hpp"

#include <vector>

namespace breakeven::test {

/// A point whose times are the forecast's times by a factor, with a spread of 1 %.
inline verify::Point point_of(const verify::Forecast& forecast, std::int64_t cached,
                              double hit_factor, double recompute_factor) {
  verify::Point point;
  point.question = {0, cached, cached + 1, verify::Place::at};
  const auto timing = [](double predicted_s, double factor) {
    std::vector<double> samples;
    for (int i = 0; i < 9; ++i)
      samples.push_back(predicted_s * factor * (1 + 0.0025 * (i - 4)));
    return verify::Timing{predicted_s, verify::interval_of(samples, 0.01), samples};
  };
  point.hit = timing(forecast.hit_s(point.question), hit_factor);
  point.recompute = timing(forecast.prefill_s(0, cached + 1), recompute_factor);
  point.measured = verify::faster(point.hit, point.recompute);
  return point;
}

} // namespace breakeven::test
