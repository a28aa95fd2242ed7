#pragma once

#include "tier/verified_load.hpp"

#include <cstddef>

namespace breakeven::tier {

/// Copies from a pool of host memory, laid out as the source ring says, to the device. All threads
/// work on all loads in flight.
class MemoryLoad final : public VerifiedLoad {
public:
  MemoryLoad(const LoadContext& context, const LoadShape& shape, const std::byte* pool);

protected:
  void do_run() override;

private:
  void copy_task(std::size_t task);
  void copy_to_device();
  template <class Copy>
  void for_each_run(const Placement& placement, std::uint64_t begin, std::uint64_t end, Copy copy);

  const std::byte* m_pool;
  std::uint64_t m_task_bytes;
  std::uint64_t m_tasks_per_load;
  std::vector<compute::DeviceRun> m_runs;
};

} // namespace breakeven::tier
