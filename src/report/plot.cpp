#include "report/plot.hpp"

#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven::report {
namespace {

/// "1 ms", "128k", "20 GB/s": a round number without its trailing zeros.
std::string tick_label(double value, Unit unit) {
  struct Prefix {
    double from;
    const char* name;
  };
  const auto scaled = [value](const std::vector<Prefix>& prefixes) {
    const Prefix* best = &prefixes.front();
    for (const Prefix& prefix : prefixes)
      if (value >= prefix.from * (1 - 1e-9)) best = &prefix;
    return fmt::format("{:.4g}{}", value / best->from, best->name);
  };
  switch (unit) {
  case Unit::tokens:
    return scaled({{1, ""}, {1024, "k"}, {1048576, "M"}, {1073741824, "G"}});
  case Unit::seconds:
    return value == 0 ? "0" : scaled({{1e-9, " ns"}, {1e-6, " us"}, {1e-3, " ms"}, {1, " s"}});
  case Unit::bytes:
    return scaled({{1, " B"}, {1024, " KiB"}, {1048576, " MiB"}, {1073741824, " GiB"}});
  case Unit::Bps:
    return value == 0 ? "0"
                      : scaled({{1, " B/s"},
                                {1e3, " kB/s"},
                                {1e6, " MB/s"},
                                {1e9, " GB/s"},
                                {1e12, " TB/s"},
                                {1e15, " PB/s"}});
  case Unit::fraction:
    return fmt::format("{:.4g} %", value * 100);
  case Unit::count:
    return fmt::format("{:.6g}", value);
  }
  return "";
}

bool binary(Unit unit) {
  return unit == Unit::tokens || unit == Unit::bytes || unit == Unit::count;
}

void add_tick(Axis& axis, double at) {
  const double slack = axis.log ? at * 1e-9 : (axis.hi - axis.lo) * 1e-9;
  if (at >= axis.lo - slack && at <= axis.hi + slack)
    axis.ticks.push_back({at, tick_label(at, axis.unit)});
}

constexpr double most_ticks = 11;

void log_ticks(Axis& axis) {
  if (binary(axis.unit)) {
    const double first = std::floor(std::log2(axis.lo)), last = std::ceil(std::log2(axis.hi));
    const double step = std::max(1.0, std::ceil((last - first) / most_ticks));
    // Counted from 2^0 on, so that a wide axis shows 1k, 4k, 16k and not 2k, 8k, 32k.
    for (double e = std::floor(first / step) * step; e <= last; e += step)
      add_tick(axis, std::exp2(e));
    return;
  }
  const double first = std::floor(std::log10(axis.lo)), last = std::ceil(std::log10(axis.hi));
  const double step = std::max(1.0, std::ceil((last - first) / most_ticks));
  const double decades = std::log10(axis.hi / axis.lo);
  for (double e = std::floor(first / step) * step; e <= last; e += step) {
    add_tick(axis, std::pow(10, e));
    if (decades > 3) continue;
    for (const double digit : {2.0, 5.0})
      add_tick(axis, digit * std::pow(10, e));
  }
}

void linear_ticks(Axis& axis) {
  const double rough = (axis.hi - axis.lo) / 8;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power;
  for (const double digit : {2.0, 5.0, 10.0})
    if (step < rough) step = digit * power;
  for (double i = std::ceil(axis.lo / step - 1e-9); i * step <= axis.hi * (1 + 1e-9); ++i)
    add_tick(axis, i * step);
}

} // namespace

const char* to_string(Unit unit) {
  switch (unit) {
  case Unit::tokens:
    return "tokens";
  case Unit::seconds:
    return "seconds";
  case Unit::bytes:
    return "bytes";
  case Unit::Bps:
    return "Bps";
  case Unit::fraction:
    return "fraction";
  case Unit::count:
    return "count";
  }
  return "";
}

double Axis::position(double value) const {
  if (!log) return (value - lo) / (hi - lo);
  if (!(value > 0)) return 0;
  return std::log(value / lo) / std::log(hi / lo);
}

std::string format(double value, Unit unit) {
  switch (unit) {
  case Unit::tokens:
  case Unit::count:
    return format_tokens(std::llround(value));
  case Unit::seconds:
    return format_seconds(value);
  case Unit::bytes:
    return format_bytes(value);
  case Unit::Bps:
    return format_rate(value);
  case Unit::fraction:
    return fmt::format("{:.3g} %", value * 100);
  }
  return "";
}

void set_range(Axis& axis, double lo, double hi) {
  if (axis.log && !(hi > lo * 1.01)) {
    lo /= 2;
    hi *= 2;
  } else if (!axis.log && !(hi > lo)) {
    hi = lo + 1;
  }
  axis.lo = lo;
  axis.hi = hi;
  axis.ticks.clear();
  if (axis.log)
    log_ticks(axis);
  else
    linear_ticks(axis);
}

} // namespace breakeven::report
