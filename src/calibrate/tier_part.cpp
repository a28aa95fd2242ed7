#include "calibrate/tier_part.hpp"

#include "fit/fit.hpp"
#include "support/error.hpp"

#include <algorithm>

namespace breakeven::calibrate {

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
    const std::uint64_t pieces = std::max(shape.load.pieces, m_tier->min_pieces(shape.load.bytes));
    if (pieces != shape.load.pieces) continue; // this tier cannot move so few pieces
    m_loads.emplace_back(shape, catalogue.add(m_tier->load(shape.load)));
  }
}

profile::Tier TierPart::result(const Catalogue& catalogue) const {
  profile::Tier tier = m_row;
  if (m_tier) {
    tier.identity = m_tier->identity();
    tier.store_Bps = m_tier->store_Bps();
    tier.store_synced_Bps = m_tier->store_synced_Bps();
  }
  for (const auto& [shape, id] : m_loads) {
    profile::SweepPoint point;
    point.bytes = static_cast<std::int64_t>(shape.load.bytes);
    point.pieces = static_cast<std::int64_t>(shape.load.pieces);
    point.in_flight = shape.load.in_flight;
    point.holdout = shape.holdout;
    point.seconds = catalogue.measurement(id);
    tier.sweep.push_back(std::move(point));
  }
  fit::LoadModelOptions options;
  if (m_tier) options.ceiling_Bps = m_tier->ceiling_Bps();
  fit::fit_tier(tier, options);
  return tier;
}

std::vector<std::string> TierPart::warnings() const {
  std::vector<std::string> sentences;
  if (m_tier)
    for (const std::string& sentence : m_tier->warnings())
      sentences.push_back(m_row.name + ": " + sentence);
  return sentences;
}

bool TierPart::decides(Catalogue::Id id, std::int64_t bytes) const {
  return std::any_of(m_loads.begin(), m_loads.end(), [&](const auto& load) {
    const auto size = static_cast<std::int64_t>(load.first.load.bytes);
    return load.second == id && size <= 4 * bytes && bytes <= 4 * size;
  });
}

} // namespace breakeven::calibrate
