#pragma once

#include "breakeven/curve_tables.hpp"
#include "breakeven/policy.hpp"

#include <cstring>

namespace breakeven {

/// Fills a Policy from curves: what policy_file.hpp does with a break-even file, or a program with
/// numbers of its own. C++17, std only, noexcept, no allocation. Every call returns nullptr or one
/// sentence on what is wrong; after a sentence the policy must not be used.
///
///     PolicyBuilder builder(policy);
///     builder.set_model(kv, chunk_tokens, block_tokens, checkpoint_tokens);
///     builder.set_dense(new_tokens, seconds, points);
///     builder.add_attention(contexts, context_points, new_tokens, new_points, seconds); // per
///     kind builder.add_tier("memory", TierVerdict::at, threshold, cost); builder.finish();
class PolicyBuilder {
public:
  explicit PolicyBuilder(Policy& policy) noexcept : m_policy(policy), m_curve(policy.m_curve) {
    policy = Policy();
  }
  PolicyBuilder(const PolicyBuilder&) = delete;
  PolicyBuilder& operator=(const PolicyBuilder&) = delete;

  /// Sizes in tokens. `checkpoint` 0 = a prefix can be loaded at any block.
  [[nodiscard]] const char* set_model(const KvSize& kv, std::int64_t chunk, std::int64_t block,
                                      std::int64_t checkpoint) noexcept {
    if (chunk < 1 || chunk > max_tokens) return "must be between 1 and 2^40 tokens";
    if (block < 1 || block > max_tokens) return "must be between 1 and 2^40 tokens";
    if (checkpoint < 0 || checkpoint > max_tokens) return "must be between 0 and 2^40 tokens";
    m_policy.m_kv = kv;
    m_policy.m_block = block;
    m_policy.m_checkpoint = checkpoint;
    m_curve.m_chunk = chunk;
    m_curve.m_half_chunk = 0.5 * static_cast<double>(chunk);
    m_curve.m_inverse_chunk = 1 / static_cast<double>(chunk);
    m_curve.m_shift = shift_of(chunk);
    return nullptr;
  }
  void set_longest_calibrated(std::int64_t tokens) noexcept { m_policy.m_longest = tokens; }
  /// False for times that were not measured on the node: every Decision then says so.
  void set_measured(bool measured) noexcept { m_policy.m_measured = measured; }
  /// Time of the part of a step that depends on `new` only, all layers: `points` ascending counts.
  [[nodiscard]] const char* set_dense(const double* new_tokens, const double* seconds,
                                      int points) noexcept {
    if (const char* wrong = axis_error(new_tokens, points, max_new_points, 1)) return wrong;
    if (const char* wrong = seconds_error(seconds, points)) return wrong;
    const double zero = 0;
    Grid grid{&zero, 1, new_tokens, points, seconds, false};
    return add(grid);
  }
  /// Time of attention in all layers of one kind over contexts (first 0) x new:
  /// seconds[context][new], row-major.
  [[nodiscard]] const char* add_attention(const double* contexts, int context_points,
                                          const double* new_tokens, int new_points,
                                          const double* seconds) noexcept {
    if (const char* wrong = axis_error(contexts, context_points, max_context_points, 0))
      return wrong;
    if (contexts[0] > 0) return "must begin with context 0";
    if (const char* wrong = axis_error(new_tokens, new_points, max_new_points, 1)) return wrong;
    if (const char* wrong = seconds_error(seconds, context_points * new_points)) return wrong;
    Grid grid{contexts, context_points, new_tokens, new_points, seconds, true};
    return add(grid);
  }

  /// `threshold`: what should_load compares with, in tokens (Policy::never = never).
  [[nodiscard]] const char* add_tier(const char* name, TierVerdict verdict, std::int64_t threshold,
                                     const TierCost& cost) noexcept {
    if (m_policy.m_tiers >= max_tiers) return "has more tiers than a policy holds (16)";
    if (std::strlen(name) >= static_cast<std::size_t>(max_tier_name))
      return "has a tier name longer than 127 bytes";
    if (m_policy.has(m_policy.find_tier(name))) return "names a tier twice";
    if (const char* wrong = cost_error(cost)) return wrong;
    const int i = m_policy.m_tiers++;
    std::strcpy(m_policy.m_name[i], name);
    const bool usable =
        cost.points > 0 && verdict != TierVerdict::never && verdict != TierVerdict::uncalibrated;
    m_policy.m_threshold[i] = usable ? (threshold < 1 ? 1 : threshold) : Policy::never;
    m_policy.m_cost[i] = cost;
    m_policy.m_cost[i].inverse_chunk = 1 / static_cast<double>(cost.chunk_tokens);
    m_policy.m_cost[i].chunk_shift = shift_of(cost.chunk_tokens);
    m_policy.m_cost[i].byte_s = cost.points > 0 ? 1 / cost.bandwidth_Bps[0] : 0;
    if (!usable && verdict != TierVerdict::never) m_policy.m_cost[i].points = 0;
    m_policy.set_verdict(i, verdict);
    return nullptr;
  }

  /// Precomputes what the queries need. Call it last.
  [[nodiscard]] const char* finish() noexcept {
    if (m_curve.m_contexts == 0 || m_curve.m_chunk == 0) return "has no prefill curve";
    CurveTables(m_curve, m_values).derive();
    return nullptr;
  }

private:
  struct Grid {
    const double* contexts;
    int context_points;
    const double* fresh;
    int fresh_points;
    const double* seconds;
    bool vanishes; ///< 0 at new = 0 (attention), else constant below the first point (dense)

    [[nodiscard]] double row(int q, double n) const noexcept {
      const double* values = seconds + static_cast<std::ptrdiff_t>(q) * fresh_points;
      if (n <= fresh[0]) return vanishes ? values[0] * (n / fresh[0]) : values[0];
      if (fresh_points == 1) return vanishes ? values[0] * (n / fresh[0]) : values[0];
      return line(fresh, values, fresh_points, n);
    }
    [[nodiscard]] double at(double c, double n) const noexcept {
      if (context_points == 1) return row(0, n);
      int q = 0;
      while (q + 2 < context_points && c >= contexts[q + 1])
        ++q;
      const double x[2] = {contexts[q], contexts[q + 1]}, y[2] = {row(q, n), row(q + 1, n)};
      return line(x, y, 2, c);
    }
    /// Piecewise linear; beyond the last point the last slope, if it rises.
    static double line(const double* x, const double* y, int points, double at) noexcept {
      int i = 0;
      while (i + 2 < points && at >= x[i + 1])
        ++i;
      if (at >= x[i + 1]) {
        const double slope = (y[i + 1] - y[i]) / (x[i + 1] - x[i]);
        return y[i + 1] + (slope > 0 ? slope * (at - x[i + 1]) : 0);
      }
      return y[i] + (y[i + 1] - y[i]) * ((at - x[i]) / (x[i + 1] - x[i]));
    }
  };

  /// The exponent of a power of two; -1 of anything else.
  static int shift_of(std::int64_t value) noexcept {
    for (int bit = 0; bit <= 40; ++bit)
      if (value == std::int64_t{1} << bit) return bit;
    return -1;
  }
  static bool finite(double value) noexcept { return value - value == 0; }
  static const char* axis_error(const double* axis, int points, int limit, double first) noexcept {
    if (points < 1) return "has no points";
    if (points > limit) return "has more points than a policy holds";
    for (int i = 0; i < points; ++i) {
      if (!(axis[i] >= first) || axis[i] > static_cast<double>(max_tokens))
        return "has a point out of range";
      if (i > 0 && !(axis[i] > axis[i - 1])) return "must ascend";
    }
    return nullptr;
  }
  static const char* seconds_error(const double* seconds, int count) noexcept {
    for (int i = 0; i < count; ++i)
      if (!(seconds[i] >= 0) || !(seconds[i] < 1e9)) return "has a time out of range";
    return nullptr;
  }
  static const char* cost_error(const TierCost& cost) noexcept {
    if (!(cost.fixed_s >= 0 && cost.fixed_s < 1e9) || !(cost.piece_s >= 0 && cost.piece_s < 1e9))
      return "has a load time out of range";
    if (cost.chunk_tokens < 1 || cost.chunk_tokens > max_tokens || cost.pieces_per_chunk < 0 ||
        cost.pieces_per_chunk > max_tokens)
      return "has a layout out of range";
    if (cost.points < 0 || cost.points > max_in_flight_points)
      return "has more in_flight points than a policy holds (16)";
    for (int i = 0; i < cost.points; ++i) {
      if (!(cost.in_flight[i] >= 1) || !(cost.in_flight[i] < 1e9) ||
          (i > 0 && !(cost.in_flight[i] > cost.in_flight[i - 1])))
        return "must have ascending in_flight from 1";
      if (!(cost.bandwidth_Bps[i] > 1e-3 && cost.bandwidth_Bps[i] < 1e18))
        return "has a bandwidth out of range";
    }
    if (!(cost.store_Bps >= 0 && cost.store_Bps < 1e18)) return "has a store rate out of range";
    return nullptr;
  }

  /// Adds a grid to the sum so far, on the union of the axes.
  const char* add(const Grid& grid) noexcept {
    if (m_curve.m_chunk == 0) return "needs the model first";
    StepCurve& s = m_curve;
    const double chunk = static_cast<double>(s.m_chunk);
    double context[max_context_points], fresh[max_new_points];
    int contexts = s.m_contexts, news = s.m_news;
    std::memcpy(context, s.m_context, sizeof context);
    std::memcpy(fresh, s.m_new, sizeof fresh);
    bool room = CurveTables::insert(context, contexts, max_context_points, 0) &&
                CurveTables::insert(fresh, news, max_new_points, 0) &&
                CurveTables::insert(fresh, news, max_new_points, chunk);
    for (int q = 0; room && q < grid.context_points; ++q)
      room = CurveTables::insert(context, contexts, max_context_points, grid.contexts[q]);
    for (int j = 0; room && j < grid.fresh_points; ++j)
      if (grid.fresh[j] < chunk)
        room = CurveTables::insert(fresh, news, max_new_points, grid.fresh[j]);
    if (!room) return "has more points than a policy holds (48 contexts, 64 new)";
    double sum[max_context_points][max_new_points];
    const Grid so_far{s.m_context, s.m_contexts, s.m_new, s.m_news, m_values, false};
    for (int q = 0; q < contexts; ++q)
      for (int j = 0; j < news; ++j)
        sum[q][j] = grid.at(context[q], fresh[j]) +
                    (s.m_contexts == 0 ? 0 : so_far.at(context[q], fresh[j]));
    s.m_contexts = contexts;
    s.m_news = news;
    std::memcpy(s.m_context, context, sizeof context);
    std::memcpy(s.m_new, fresh, sizeof fresh);
    for (int q = 0; q < contexts; ++q)
      for (int j = 0; j < news; ++j)
        m_values[q * news + j] = sum[q][j];
    return nullptr;
  }

  Policy& m_policy;
  StepCurve& m_curve;
  double m_values[max_context_points * max_new_points] = {};
};

} // namespace breakeven
