#include "calibrate/tier_part.hpp"

#include "calibrate/contention.hpp"
#include "fit/fit.hpp"
#include "support/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace breakeven::calibrate {
namespace {

bool is_in_own_pieces(const Plan& plan, const tier::LoadShape& load) {
  const auto chunk =
      static_cast<std::uint64_t>(plan.layout.chunk_tokens * plan.layout.bytes_per_token);
  return load.pieces ==
         load.bytes / chunk * static_cast<std::uint64_t>(plan.layout.pieces_per_chunk);
}

profile::SweepPoint point_of(const SweepShape& shape, profile::Measurement seconds) {
  profile::SweepPoint point;
  point.bytes = static_cast<std::int64_t>(shape.load.bytes);
  point.pieces = static_cast<std::int64_t>(shape.load.pieces);
  point.in_flight = shape.load.in_flight;
  point.holdout = shape.holdout;
  point.seconds = std::move(seconds);
  return point;
}

} // namespace

TierPart::TierPart(const Plan& plan, const TierPlan& tier, compute::DeviceBuffer& device) {
  m_row.name = m_row.spec = tier.spec.text;
  m_row.kind = tier.spec.kind;
  m_row.layout = {plan.layout.name, plan.layout.chunk_tokens, plan.layout.pieces_per_chunk};
  tier::TierOptions options;
  options.layout = plan.layout;
  options.max_load_bytes = plan.kv_buffer_bytes;
  options.threads = plan.request.threads;
  try {
    if (!tier.unavailable.empty()) throw error(error_kind::environment, tier.unavailable);
    m_tier = tier::create(tier.spec, options, device);
    m_tier->prepare();
    m_row.layout = {m_tier->layout().name, m_tier->layout().chunk_tokens,
                    m_tier->layout().pieces_per_chunk};
    m_row.reason = m_tier->disqualified();
  } catch (const error& failure) {
    if (tier.requested)
      throw error(failure.kind(), "tier " + tier.spec.text + ": " + failure.what());
    m_tier.reset();
    m_row.reason = failure.what();
  }
  if (!m_row.reason.empty()) m_row.status = "uncalibrated";
}

void TierPart::add_loads(const Plan& plan, Catalogue& catalogue) {
  if (!m_tier || !m_row.reason.empty()) return;
  for (const SweepShape& shape : plan.sweep) {
    if (shape.load.pieces < m_tier->min_pieces(shape.load.bytes)) continue;
    m_loads.emplace_back(shape, catalogue.add(m_tier->load(shape.load)));
  }
  // The gap between the engines' way and the best one shows at the largest load, where open and
  // close count least, and at the one that layouts are compared at.
  if (m_tier->access_mode() == "engine" && !plan.layouts.empty())
    for (const SweepShape& shape : plan.sweep)
      if (shape.load.in_flight == 1 && !shape.holdout &&
          (shape.load.bytes == plan.layouts.front().load.bytes ||
           shape.load.bytes == plan.kv_buffer_bytes) &&
          is_in_own_pieces(plan, shape.load))
        add_ideal(shape, catalogue);
  for (const LayoutShape& layout : plan.layouts)
    if (layout.load.pieces >= m_tier->min_pieces(layout.load.bytes))
      m_layouts.push_back({layout, catalogue.add(m_tier->load(layout.load))});
}

void TierPart::add_ideal(const SweepShape& shape, Catalogue& catalogue) {
  if (auto load = m_tier->ideal_load(shape.load))
    m_ideal.emplace_back(shape, catalogue.add(std::move(load)));
}

void TierPart::contend(const Plan& plan, compute::Compute& compute, std::int64_t new_tokens,
                       double seconds, std::stop_token stop) {
  if (!m_tier || m_loads.empty() || plan.layouts.empty()) return;
  for (const auto& [shape, id] : m_loads)
    if (shape.load.bytes == plan.layouts.front().load.bytes && is_in_own_pieces(plan, shape.load) &&
        shape.load.in_flight == 1)
      m_row.contention = measure_contention(
          {*m_tier->load(shape.load), shape.load, *compute.step(0, new_tokens), new_tokens},
          seconds, std::move(stop));
}

void TierPart::add_access(profile::Tier& tier, const Catalogue& catalogue) const {
  if (!m_tier || m_tier->access_mode().empty()) return;
  profile::Access& access = tier.access.emplace();
  access.mode = m_tier->access_mode();
  for (const auto& [shape, id] : m_ideal) {
    access.ideal.push_back(point_of(shape, catalogue.measurement(id)));
    const profile::SweepPoint& ideal = access.ideal.back();
    for (const profile::SweepPoint& point : tier.sweep) // both read the same bytes: rates are 1 / s
      if (point.bytes == ideal.bytes && point.pieces == ideal.pieces && point.in_flight == 1 &&
          point.seconds.median_s > 0)
        access.engine_share = ideal.seconds.median_s / point.seconds.median_s;
  }
  for (const tier::PlaceRate& place : m_tier->places())
    access.places.push_back({place.place, place.read_Bps});
}

profile::Tier TierPart::result(const Catalogue& catalogue) const {
  profile::Tier tier = m_row;
  if (m_tier) {
    tier.identity = m_tier->identity();
    tier.store_Bps = m_tier->store_Bps();
    tier.store_synced_Bps = m_tier->store_synced_Bps();
  }
  for (const auto& [shape, id] : m_loads)
    tier.sweep.push_back(point_of(shape, catalogue.measurement(id)));
  add_access(tier, catalogue);
  for (const LayoutLoad& layout : m_layouts) {
    if (!tier.layouts) tier.layouts.emplace();
    tier.layouts->push_back({layout.shape.name, static_cast<std::int64_t>(layout.shape.load.bytes),
                             static_cast<std::int64_t>(layout.shape.load.pieces),
                             catalogue.measurement(layout.id)});
  }
  fit::LoadModelOptions options;
  if (m_tier) options.ceiling_Bps = m_tier->ceiling_Bps();
  fit::fit_tier(tier, options);
  return tier;
}

std::vector<std::string> TierPart::warnings(const Catalogue& catalogue) const {
  std::vector<std::string> sentences;
  if (!m_tier) return sentences;
  for (const std::string& sentence : m_tier->warnings())
    sentences.push_back(m_row.name + ": " + sentence);
  // Drives with a write cache that fills up, heat, or the rate limit of a virtual disk.
  constexpr double least_drift = 0.1;
  double drift = 0;
  for (const auto& [shape, id] : m_loads)
    if (std::fabs(catalogue.series(id).drift) > std::fabs(drift))
      drift = catalogue.series(id).drift;
  if (std::fabs(drift) > least_drift)
    sentences.push_back(fmt::format(
        "{}: loads became {:.0f} % {} through the run: a drive's cache, heat, a host's rate limit "
        "or other work on this machine; a longer --budget shows what lasts",
        m_row.name, 100 * std::fabs(drift), drift > 0 ? "slower" : "faster"));
  return sentences;
}

bool TierPart::informs(Catalogue::Id id) const {
  return std::any_of(m_ideal.begin(), m_ideal.end(),
                     [&](const auto& load) { return load.second == id; }) ||
         std::any_of(m_layouts.begin(), m_layouts.end(),
                     [&](const LayoutLoad& load) { return load.id == id; });
}

bool TierPart::decides(Catalogue::Id id, std::int64_t bytes) const {
  return std::any_of(m_loads.begin(), m_loads.end(), [&](const auto& load) {
    const auto size = static_cast<std::int64_t>(load.first.load.bytes);
    return load.second == id && size <= 4 * bytes && bytes <= 4 * size;
  });
}

} // namespace breakeven::calibrate
