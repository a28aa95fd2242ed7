#pragma once

#include "breakeven/corrector.hpp"
#include "breakeven/policy.hpp"

#include <atomic>
#include <cmath>

namespace breakeven {

struct ObserverOptions {
  double max_factor = 2;       ///< a correction stays within [1 / max_factor, max_factor]
  double drift_factor = 1.3;   ///< beyond it a new calibration is due
  int least_observations = 32; ///< fewer correct nothing
  double step = 0.01;          ///< how far one observation moves a correction at most, as a ratio
};

/// Learns from real transfers and prefills how far the node has drifted from its calibration.
///
/// Tracks the median of observed / predicted time per tier and of prefill: each observation moves
/// the estimate at most one step towards itself, so outliers weigh no more than others and old
/// observations fade out. Feeding is lock-free and may come from any thread.
/// Reading is a pure function of what was fed. Correction is opt-in: nothing uses an Observer
/// unless its corrected policy is published. With tensor parallelism let one rank observe, and send
/// its correction factors to the others, so that all decide alike.
class Observer {
public:
  /// The policy must be the calibrated, uncorrected one, and outlive the observer.
  explicit Observer(const Policy& policy, ObserverOptions options = {}) noexcept
      : m_policy(policy), m_options(options) {}

  /// A load that took `seconds`, bytes and pieces as moved, with `in_flight` loads at that time.
  void load(TierId tier, double bytes, double pieces, double in_flight, Seconds seconds) noexcept {
    if (!m_policy.has(tier)) return;
    const TierCost& cost = m_policy.cost(tier);
    if (cost.points == 0 || !(in_flight >= 0)) return;
    feed(m_track[tier.index], seconds.value,
         cost.fixed_s + pieces * cost.piece_s + bytes / cost.bandwidth(in_flight));
  }
  /// A prefill of `fresh` tokens after `context` that took `seconds`.
  void prefill(Tokens context, Tokens fresh, Seconds seconds) noexcept {
    if (context.value < 0 || fresh.value < 1 || context.value > max_tokens ||
        fresh.value > max_tokens)
      return;
    feed(m_track[max_tiers], seconds.value, m_policy.curve().prefill_s(context.value, fresh.value));
  }

  /// Factor on calibrated load times; 1 until enough was observed.
  [[nodiscard]] double load_factor(TierId tier) const noexcept {
    return m_policy.has(tier) ? factor(m_track[tier.index]) : 1;
  }
  [[nodiscard]] double prefill_factor() const noexcept { return factor(m_track[max_tiers]); }
  [[nodiscard]] std::int64_t load_count(TierId tier) const noexcept {
    return m_policy.has(tier) ? m_track[tier.index].count.load(std::memory_order_relaxed) : 0;
  }
  [[nodiscard]] std::int64_t prefill_count() const noexcept {
    return m_track[max_tiers].count.load(std::memory_order_relaxed);
  }

  /// Whether the tier, or prefill (an invalid TierId), has drifted so far that a new calibration
  /// is due.
  [[nodiscard]] bool drifted(TierId tier) const noexcept {
    const double f = m_policy.has(tier) ? load_factor(tier) : prefill_factor();
    return f > m_options.drift_factor || f < 1 / m_options.drift_factor;
  }
  [[nodiscard]] bool calibration_due() const noexcept {
    bool due = drifted(TierId());
    for (int i = 0; i < m_policy.tier_count(); ++i)
      due = due || drifted(TierId(i));
    return due;
  }

  /// The calibrated policy with the corrections of now, thresholds solved again. Takes about
  /// 0.1 ms: publish it now and then (LivePolicy), not per request.
  void corrected(Policy& out) const noexcept {
    out = m_policy;
    double load[max_tiers];
    for (int i = 0; i < max_tiers; ++i)
      load[i] = load_factor(TierId(i));
    PolicyCorrector::apply(out, load, prefill_factor());
  }

private:
  /// The median's logarithm in millionths, and how many observations it has seen.
  struct alignas(64) Track {
    std::atomic<std::int64_t> micro_log{0}, count{0};
  };

  void feed(Track& track, double observed_s, double predicted_s) noexcept {
    if (!(observed_s > 0) || !(predicted_s > 0) || !(observed_s < 1e9)) return;
    const auto observed = static_cast<std::int64_t>(std::log(observed_s / predicted_s) * 1e6);
    const std::int64_t seen = track.count.fetch_add(1, std::memory_order_relaxed);
    // Large steps first, to arrive; small ones later, to stay.
    const double step = m_options.step * (1 + 24.0 / static_cast<double>(1 + seen));
    auto move = static_cast<std::int64_t>(step * 1e6);
    const auto most = static_cast<std::int64_t>(std::log(m_options.max_factor) * 1e6);
    std::int64_t old = track.micro_log.load(std::memory_order_relaxed), next = 0;
    do {
      const std::int64_t gap = observed - old;
      next = old + (gap > move ? move : gap < -move ? -move : gap);
      next = next > most ? most : next < -most ? -most : next;
    } while (!track.micro_log.compare_exchange_weak(old, next, std::memory_order_relaxed));
  }

  [[nodiscard]] double factor(const Track& track) const noexcept {
    if (track.count.load(std::memory_order_relaxed) < m_options.least_observations) return 1;
    return std::exp(static_cast<double>(track.micro_log.load(std::memory_order_relaxed)) * 1e-6);
  }

  const Policy& m_policy;
  ObserverOptions m_options;
  Track m_track[max_tiers + 1]; ///< the last one is prefill
};

} // namespace breakeven
