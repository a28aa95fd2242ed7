#include "compare/pairs.hpp"

#include "measure/statistics.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace breakeven::compare {
namespace {

using namespace profile;

/// Measured points by what they are, in the order of the file.
using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
using Points = std::map<Key, const Measurement*>;

std::string tokens(std::int64_t count) {
  return format_tokens(count);
}

struct Samples {
  std::int64_t all = 0, each = 0;
};

/// Samples behind the constants of loads of which `in_flight` run: all, and the median per load.
Samples samples_of(const Tier& tier, std::int64_t in_flight) {
  std::vector<double> counts;
  Samples samples;
  for (const SweepPoint& point : tier.sweep)
    if (point.in_flight == in_flight && !point.holdout) {
      samples.all += static_cast<std::int64_t>(point.seconds.samples_s.size());
      counts.push_back(static_cast<double>(point.seconds.samples_s.size()));
    }
  samples.each = static_cast<std::int64_t>(measure::median(counts));
  return samples;
}

class Pairing {
public:
  Pairing(const BreakEvenFile& base, const BreakEvenFile& next,
          const std::vector<Difference>& differences)
      : m_base(base), m_next(next), m_differences(differences) {}

  Pairs run() {
    prefill();
    for (const Tier& tier : m_base.tiers)
      if (const Tier* other = tier_named(m_next, tier.name))
        both(tier, *other);
      else
        lone(tier, true);
    for (const Tier& tier : m_next.tiers)
      if (!tier_named(m_base, tier.name)) lone(tier, false);
    return std::move(m_pairs);
  }

private:
  template <class Name>
  void match(const std::string& group, Source source, const std::string& blocked,
             const Points& base, const Points& next, Name name) {
    std::size_t only_base = 0, only_next = next.size();
    for (const auto& [key, measured] : base) {
      const auto other = next.find(key);
      if (other == next.end()) {
        ++only_base;
        continue;
      }
      --only_next;
      m_pairs.sampled.push_back({group, name(key), source, measured, other->second, blocked});
    }
    if (only_base + only_next > 0)
      m_pairs.unmatched.push_back({group + " measured", fmt::format("{} points", base.size()),
                                   fmt::format("{} points", next.size()),
                                   fmt::format("{} are in BASE only and {} in NEW only: they are "
                                               "not compared",
                                               only_base, only_next)});
  }

  static Points dense_points(const Prefill& prefill) {
    Points points;
    for (std::size_t i = 0; i < prefill.dense.new_tokens.size(); ++i)
      points[{prefill.dense.new_tokens[i], 0, 0}] = &prefill.dense.seconds[i];
    return points;
  }
  static Points step_points(const Prefill& prefill) {
    Points points;
    for (const StepCheck& check : prefill.step_checks)
      points[{check.context_tokens, check.new_tokens, 0}] = &check.measured;
    return points;
  }
  static Points grid_points(const AttentionGrid* grid) {
    Points points;
    if (!grid) return points;
    for (std::size_t c = 0; c < grid->context_tokens.size(); ++c)
      for (std::size_t n = 0; n < grid->new_tokens.size(); ++n)
        points[{grid->context_tokens[c], grid->new_tokens[n], 0}] = &grid->seconds[c][n];
    return points;
  }
  static const AttentionGrid* grid_named(const Prefill& prefill, const std::string& kind) {
    for (const AttentionGrid& grid : prefill.attention)
      if (grid.layer_kind == kind) return &grid;
    return nullptr;
  }

  void prefill() {
    const std::string blocked = blocked_by(m_differences, "model");
    const auto step_name = [](const Key& key) {
      return fmt::format("{} new tokens at context {}", tokens(std::get<1>(key)),
                         tokens(std::get<0>(key)));
    };
    match("whole steps", Source::compute, blocked, step_points(m_base.prefill),
          step_points(m_next.prefill), step_name);
    match("dense part of a step", Source::compute, blocked, dense_points(m_base.prefill),
          dense_points(m_next.prefill),
          [](const Key& key) { return fmt::format("{} new tokens", tokens(std::get<0>(key))); });
    std::vector<std::string> kinds;
    for (const Prefill* side : {&m_base.prefill, &m_next.prefill})
      for (const AttentionGrid& grid : side->attention)
        if (std::find(kinds.begin(), kinds.end(), grid.layer_kind) == kinds.end())
          kinds.push_back(grid.layer_kind);
    for (const std::string& kind : kinds)
      match("attention (" + kind + ")", Source::compute, blocked,
            grid_points(grid_named(m_base.prefill, kind)),
            grid_points(grid_named(m_next.prefill, kind)), step_name);
  }

  static Points sweep_points(const Tier& tier) {
    Points points;
    for (const SweepPoint& point : tier.sweep)
      points[{point.in_flight, point.bytes, point.pieces}] = &point.seconds;
    return points;
  }

  void both(const Tier& base, const Tier& next) {
    const std::string group = "tier " + base.name, blocked = blocked_by(m_differences, base.name);
    if (!base.load || !next.load) status(group, base, next);
    if (base.load && next.load) constants(group, blocked, base, next);
    match(group, Source::load, blocked, sweep_points(base), sweep_points(next), [](const Key& key) {
      const auto [in_flight, bytes, pieces] = key;
      return fmt::format("load of {} in {} {}{}", format_bytes(static_cast<double>(bytes)),
                         tokens(pieces), pieces == 1 ? "piece" : "pieces",
                         in_flight > 1 ? fmt::format(", {} at once", in_flight) : "");
    });
  }

  /// One of them, or both, have no load model.
  void status(const std::string& group, const Tier& base, const Tier& next) {
    Quantity quantity;
    quantity.group = group;
    quantity.name = "load model";
    const auto side = [](const Tier& tier) {
      Side result;
      result.text = tier.load ? "calibrated" : "uncalibrated";
      return result;
    };
    quantity.base = side(base);
    quantity.next = side(next);
    quantity.verdict = base.load || next.load ? Verdict::changed : Verdict::inconclusive;
    quantity.lost = base.load && !next.load;
    quantity.reason = base.load || next.load
                          ? fmt::format("uncalibrated in {}: {}", base.load ? "NEW" : "BASE",
                                        base.load ? next.reason : base.reason)
                          : "uncalibrated in both: " + next.reason;
    m_pairs.lone.push_back(std::move(quantity));
  }

  void lone(const Tier& tier, bool in_base) {
    Quantity quantity;
    quantity.group = "tier " + tier.name;
    quantity.name = "tier";
    (in_base ? quantity.next : quantity.base).text = "absent";
    (in_base ? quantity.base : quantity.next).text = tier.load ? "calibrated" : "uncalibrated";
    quantity.verdict = Verdict::changed;
    quantity.lost = in_base && tier.load.has_value();
    quantity.reason = in_base ? "only in BASE: NEW did not measure this tier"
                              : "only in NEW: BASE did not measure this tier";
    m_pairs.lone.push_back(std::move(quantity));
  }

  void constants(const std::string& group, const std::string& blocked, const Tier& base,
                 const Tier& next) {
    const LoadModel &a = *base.load, &b = *next.load;
    const auto pair = [&](const std::string& name, Unit unit, const Estimate& x, const Estimate& y,
                          std::int64_t in_flight, double load_s, double multiple) {
      const Samples of_base = samples_of(base, in_flight), of_next = samples_of(next, in_flight);
      m_pairs.fitted.push_back({group, name, unit, x, y, of_base.all, of_next.all, of_base.each,
                                of_next.each, load_s, multiple, blocked});
    };
    const auto [small_s, many_pieces_s, pieces] = loads_of(base);
    pair("fixed cost", Unit::seconds, a.fixed_s, b.fixed_s, 1, small_s, 1);
    pair("cost per piece", Unit::seconds, a.piece_s, b.piece_s, 1, many_pieces_s, pieces);
    for (const BandwidthPoint& x : a.bandwidth)
      for (const BandwidthPoint& y : b.bandwidth)
        if (x.in_flight == y.in_flight)
          pair(x.in_flight == 1 ? "bandwidth" : fmt::format("bandwidth, {} at once", x.in_flight),
               Unit::bytes_per_second, x.bandwidth_Bps, y.bandwidth_Bps, x.in_flight, 0, 1);
  }

  struct Loads {
    double small_s, many_pieces_s, pieces;
  };
  /// The shortest load and the one of most pieces per second; a load of no bytes and of one chunk
  /// where the file has no sweep.
  static Loads loads_of(const Tier& tier) {
    const LoadModel& load = *tier.load;
    Loads result{0, 0, 1};
    for (const SweepPoint& point : tier.sweep) {
      const double median_s = point.seconds.median_s;
      if (point.in_flight != 1 || !(median_s > 0)) continue;
      if (result.small_s <= 0 || median_s < result.small_s) result.small_s = median_s;
      const double pieces = static_cast<double>(point.pieces);
      if (result.many_pieces_s <= 0 || pieces / median_s > result.pieces / result.many_pieces_s) {
        result.many_pieces_s = median_s;
        result.pieces = pieces;
      }
    }
    const double pieces =
        static_cast<double>(std::max<std::int64_t>(1, tier.layout.pieces_per_chunk));
    if (result.small_s <= 0) result.small_s = load.fixed_s.value + load.piece_s.value * pieces;
    if (result.many_pieces_s <= 0) {
      result.many_pieces_s = result.small_s;
      result.pieces = pieces;
    }
    return result;
  }

  const BreakEvenFile &m_base, &m_next;
  const std::vector<Difference>& m_differences;
  Pairs m_pairs;
};

} // namespace

Pairs pair_up(const BreakEvenFile& base, const BreakEvenFile& next,
              const std::vector<Difference>& differences) {
  return Pairing(base, next, differences).run();
}

} // namespace breakeven::compare
