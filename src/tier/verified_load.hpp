#pragma once

#include "compute/device_buffer.hpp"
#include "measure/workload.hpp"
#include "tier/piece_map.hpp"
#include "tier/source_ring.hpp"
#include "tier/thread_team.hpp"
#include "tier/tier.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace breakeven::tier {

/// What a load needs of its tier. All of it outlives the workload.
struct LoadContext {
  compute::DeviceBuffer& device;
  SourceRing& source;
  ThreadTeam& team;
  std::uint64_t seed = 1; ///< of the pattern in the source
  std::string name;       ///< of the tier, for messages
};

/// A load whose result is checked against what the source holds: all of it on the first run, a
/// few words of every page on each later one.
class VerifiedLoad : public measure::Workload {
public:
  VerifiedLoad(const LoadContext& context, const LoadShape& shape);

protected:
  /// One of the loads in flight.
  struct Placement {
    std::uint64_t source = 0; ///< first byte in the ring
    std::uint64_t device = 0; ///< first byte in the device buffer
  };

  void do_prepare() override; ///< picks the next, coldest part of the source and of the device
  void do_verify() override;

  const LoadContext m_context;
  const LoadShape m_shape;
  const PieceMap m_pieces;
  std::vector<Placement> m_placements; ///< one per load in flight, valid during do_run()

private:
  void verify(const Placement& placement, std::uint64_t begin, std::uint64_t end, bool samples);
  void verify_copy(const Placement& placement, std::uint64_t begin, std::uint64_t end,
                   bool samples);
  void check_run(const std::byte* data, std::uint64_t source, std::uint64_t bytes,
                 bool samples) const;
  void check(const std::byte* data, std::uint64_t source, std::uint64_t bytes, bool samples) const;

  std::uint64_t m_stride = 0; ///< bytes of the device buffer per load in flight
  std::uint64_t m_runs = 0;
  std::uint64_t m_device_next = 0;
  std::optional<PieceMap> m_from_device; ///< where the host cannot see the buffer
  std::vector<std::byte> m_copy;
  std::size_t m_next_slice = 0;
};

} // namespace breakeven::tier
