#include "tier/tier.hpp"

#include "support/error.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::tier {

Tier::Tier(TierSpec spec, TierOptions options, compute::DeviceBuffer& device)
    : m_spec(std::move(spec)), m_options(std::move(options)), m_device(device) {
  if (m_options.max_load_bytes == 0)
    throw error(error_kind::usage, fmt::format("tier '{}': no bytes to load", m_spec.text));
  if (m_device.size_bytes() < m_options.max_load_bytes)
    throw error(error_kind::environment,
                fmt::format("tier '{}': the device buffer holds {} but loads of {} were asked for",
                            m_spec.text, format_bytes(static_cast<double>(m_device.size_bytes())),
                            format_bytes(static_cast<double>(m_options.max_load_bytes))));
}

void Tier::prepare() {
  if (m_prepared) return;
  do_prepare();
  m_prepared = true;
}

void Tier::require(const LoadShape& shape) const {
  const auto refuse = [&](const std::string& why) {
    throw error(error_kind::usage,
                fmt::format("tier '{}': cannot load {} bytes in {} pieces, {} "
                            "at once: {}",
                            m_spec.text, shape.bytes, shape.pieces, shape.in_flight, why));
  };
  if (!m_prepared) refuse("the tier is not prepared");
  if (!m_disqualified.empty()) refuse(m_disqualified);
  if (shape.bytes == 0 || shape.pieces == 0 || shape.in_flight < 1)
    refuse("each of them must be at least 1");
  if (shape.pieces > shape.bytes) refuse("a piece has at least one byte");
  const auto at_once = static_cast<std::uint64_t>(shape.in_flight);
  if (shape.bytes > m_options.max_load_bytes / at_once)
    refuse(fmt::format("together more than the {} that the tier was prepared for",
                       format_bytes(static_cast<double>(m_options.max_load_bytes))));
}

std::unique_ptr<measure::Workload> Tier::load(const LoadShape& shape) {
  require(shape);
  if (const std::uint64_t fewest = min_pieces(shape.bytes); shape.pieces < fewest)
    throw error(error_kind::usage,
                fmt::format("tier '{}': {} bytes are {} chunks, so they arrive in at least as many "
                            "pieces, not {}",
                            m_spec.text, shape.bytes, fewest, shape.pieces));
  return do_load(shape);
}

std::unique_ptr<measure::Workload> Tier::ideal_load(const LoadShape& shape) {
  require(shape);
  return do_ideal_load(shape);
}

void Tier::warn(const std::string& sentence) {
  if (std::find(m_warnings.begin(), m_warnings.end(), sentence) == m_warnings.end())
    m_warnings.push_back(sentence);
}

std::unique_ptr<Tier> create(const TierSpec& spec, const TierOptions& options,
                             compute::DeviceBuffer& device) {
  const TierKind& kind = tier_kinds().at(spec.kind);
  if (const std::string reason = kind.unavailable_reason(); !reason.empty())
    throw error(error_kind::environment, "tier '" + spec.text + "' is not available: " + reason);
  return kind.create(spec, options, device);
}

} // namespace breakeven::tier
