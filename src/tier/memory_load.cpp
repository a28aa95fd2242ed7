#include "tier/memory_load.hpp"

#include "tier/stream_copy.hpp"

#include <algorithm>

namespace breakeven::tier {
namespace {

constexpr std::uint64_t device_batch_bytes = 64u << 20;

/// Small enough that the threads end together, large enough that claiming one costs nothing.
std::uint64_t task_bytes_for(const LoadShape& shape, int threads) {
  constexpr std::uint64_t least = 256u << 10, most = 4u << 20;
  const std::uint64_t all = shape.bytes * static_cast<std::uint64_t>(shape.in_flight);
  return std::clamp(all / (static_cast<std::uint64_t>(threads) * 8), least, most);
}

} // namespace

MemoryLoad::MemoryLoad(const LoadContext& context, const LoadShape& shape, const std::byte* pool)
    : VerifiedLoad(context, shape), m_pool(pool),
      m_task_bytes(task_bytes_for(shape, context.team.threads())),
      m_tasks_per_load((shape.bytes + m_task_bytes - 1) / m_task_bytes) {}

/// Contiguous on both sides: cut where a piece ends and where the ring starts again.
template <class Copy>
void MemoryLoad::for_each_run(const Placement& placement, std::uint64_t begin, std::uint64_t end,
                              Copy copy) {
  const std::uint64_t total = m_context.source.total_bytes();
  m_pieces.for_each(begin, end, [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
    std::uint64_t source = (placement.source + from) % total;
    std::uint64_t device = placement.device + to;
    while (bytes > 0) {
      const std::uint64_t part = std::min(bytes, total - source);
      copy(device, m_pool + source, part);
      device += part;
      bytes -= part;
      source = 0;
    }
  });
}

void MemoryLoad::copy_task(std::size_t task) {
  // Loads take turns, so that all of them progress alike.
  const Placement& placement = m_placements[task % m_placements.size()];
  const std::uint64_t begin = task / m_placements.size() * m_task_bytes;
  const std::uint64_t end = std::min(m_shape.bytes, begin + m_task_bytes);
  std::byte* host = m_context.device.host_address();
  for_each_run(placement, begin, end,
               [&](std::uint64_t to, const std::byte* from, std::uint64_t bytes) {
                 stream_copy(host + to, from, bytes);
               });
}

/// The device works on one batch while the runs of the next are listed. Batches are whole pieces.
void MemoryLoad::copy_to_device() {
  const std::uint64_t piece = m_pieces.piece_bytes();
  const std::uint64_t batch =
      piece < device_batch_bytes ? device_batch_bytes / piece * piece : device_batch_bytes;
  for (std::uint64_t begin = 0; begin < m_shape.bytes; begin += batch) {
    const std::uint64_t end = std::min(m_shape.bytes, begin + batch);
    for (std::size_t lane = 0; lane < m_placements.size(); ++lane) {
      m_runs.clear();
      for_each_run(m_placements[lane], begin, end,
                   [&](std::uint64_t to, const std::byte* from, std::uint64_t bytes) {
                     m_runs.push_back({to, from, static_cast<std::size_t>(bytes)});
                   });
      m_context.device.copy_in_runs(m_runs, lane);
    }
  }
  m_context.device.synchronize();
}

void MemoryLoad::do_run() {
  if (m_context.device.host_address() == nullptr) return copy_to_device();
  m_context.team.run(m_tasks_per_load * m_placements.size(),
                     [&](std::size_t task) { copy_task(task); });
}

} // namespace breakeven::tier
