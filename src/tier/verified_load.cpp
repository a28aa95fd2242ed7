#include "tier/verified_load.hpp"

#include "support/error.hpp"
#include "support/units.hpp"
#include "tier/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace breakeven::tier {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t sample_bytes = 8;
constexpr std::uint64_t slice_bytes = 8u << 20;
constexpr std::size_t slices_per_run = 8;

std::string load_name(const std::string& tier, const LoadShape& shape) {
  return fmt::format("load {} from {}, {} piece{}, {} in flight",
                     format_bytes(static_cast<double>(shape.bytes)), tier, shape.pieces,
                     shape.pieces == 1 ? "" : "s", shape.in_flight);
}

/// Room per load: whole pages when the buffer is large enough for it.
std::uint64_t stride_of(const LoadShape& shape, std::uint64_t buffer_bytes) {
  const std::uint64_t paged = (shape.bytes + page_bytes - 1) / page_bytes * page_bytes;
  const auto loads = static_cast<std::uint64_t>(shape.in_flight);
  return paged <= buffer_bytes / loads ? paged : shape.bytes;
}

} // namespace

VerifiedLoad::VerifiedLoad(const LoadContext& context, const LoadShape& shape)
    : Workload(load_name(context.name, shape)), m_context(context), m_shape(shape),
      m_pieces(shape.bytes, shape.pieces, context.seed),
      m_placements(static_cast<std::size_t>(shape.in_flight)),
      m_stride(stride_of(shape, context.device.size_bytes())) {}

void VerifiedLoad::do_prepare() {
  const std::uint64_t used = m_stride * m_placements.size();
  const std::uint64_t slack = m_context.device.size_bytes() - used;
  if (m_device_next > slack) m_device_next = 0;
  for (std::size_t i = 0; i < m_placements.size(); ++i) {
    m_placements[i].source = m_context.source.take(m_shape.bytes);
    m_placements[i].device = m_device_next + i * m_stride;
  }
  m_device_next += std::max(used / page_bytes, std::uint64_t{1}) * page_bytes;
}

void VerifiedLoad::do_verify() {
  const bool samples = m_runs++ > 0;
  const std::uint64_t slices = (m_shape.bytes + slice_bytes - 1) / slice_bytes;
  const auto slice = [&](std::size_t task) {
    const std::uint64_t begin = task % slices * slice_bytes;
    const std::uint64_t end = std::min(m_shape.bytes, begin + slice_bytes);
    verify(m_placements[task / slices], begin, end, samples);
  };
  const std::size_t tasks = slices * m_placements.size();
  if (m_context.device.host_address() != nullptr) return m_context.team.run(tasks, slice);
  // Copies back take as long as the load itself: later runs check a few slices each, in turn.
  const std::size_t checked = samples ? std::min(tasks, slices_per_run) : tasks;
  for (std::size_t i = 0; i < checked; ++i) {
    const std::size_t task = m_next_slice++ % tasks;
    const std::uint64_t begin = task % slices * slice_bytes;
    verify_copy(m_placements[task / slices], begin, std::min(m_shape.bytes, begin + slice_bytes),
                samples);
  }
}

/// [begin, end) of the load's place on the device.
void VerifiedLoad::verify_copy(const Placement& placement, std::uint64_t begin, std::uint64_t end,
                               bool samples) {
  if (!m_from_device) m_from_device = m_pieces.inverse();
  m_copy.resize(end - begin);
  m_context.device.copy_out(placement.device + begin, m_copy.data(), m_copy.size());
  m_from_device->for_each(
      begin, end, [&](std::uint64_t at, std::uint64_t from, std::uint64_t bytes) {
        check_run(m_copy.data() + (at - begin), placement.source + from, bytes, samples);
      });
}

void VerifiedLoad::verify(const Placement& placement, std::uint64_t begin, std::uint64_t end,
                          bool samples) {
  const std::byte* host = m_context.device.host_address();
  m_pieces.for_each(begin, end, [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
    check_run(host + placement.device + to, placement.source + from, bytes, samples);
  });
}

/// A run on the device, whose source may wrap around the end of the ring.
void VerifiedLoad::check_run(const std::byte* data, std::uint64_t source, std::uint64_t bytes,
                             bool samples) const {
  const std::uint64_t total = m_context.source.total_bytes();
  for (source %= total; bytes > 0; source = 0) {
    const std::uint64_t part = std::min(bytes, total - source);
    check(data, source, part, samples);
    data += part;
    bytes -= part;
  }
}

void VerifiedLoad::check(const std::byte* data, std::uint64_t source, std::uint64_t bytes,
                         bool samples) const {
  const auto check_part = [&](std::uint64_t at, std::uint64_t part) {
    const std::size_t wrong = pattern_mismatch(data + at, part, m_context.seed, source + at);
    if (wrong == part) return;
    throw error(error_kind::measurement,
                fmt::format("{}: byte {} of the source did not arrive; what was timed is not a "
                            "load, so there is no result",
                            name(), source + at + wrong));
  };
  if (!samples) return check_part(0, bytes);
  for (std::uint64_t at = 0; at < bytes; at += page_bytes)
    check_part(at, std::min(sample_bytes, bytes - at));
  const std::uint64_t tail = std::min(sample_bytes, bytes);
  check_part(bytes - tail, tail);
}

} // namespace breakeven::tier
