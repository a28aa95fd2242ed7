#pragma once

#include "cuda/copy/copy_lane.hpp"
#include "cuda/copy/copy_work.hpp"
#include "support/registry.hpp"

#include <functional>
#include <span>
#include <string>

namespace breakeven::cuda {

/// What decides whether a variant can be used.
struct CopyFacts {
  int driver_version = 0; ///< newest CUDA of the driver, as cudaDriverGetVersion() tells
  bool batch_in_runtime = false;
  bool kernels_read_host = true; ///< pinned memory has one address for host and device
};

/// One way to bring many runs of pinned host memory to the device.
struct CopyVariant {
  std::string summary;
  std::function<std::string(const CopyFacts&)> unavailable_reason; ///< "" when usable
  /// Queues all runs (none of 0 bytes) in the lane; done when the lane's stream is. Throws
  /// error::environment.
  std::function<void(std::span<const CopyItem>, CopyLane&)> copy;
};

/// By name; those that engines use most come first.
const registry<CopyVariant>& copy_variants();

CopyFacts copy_facts();

/// One cudaMemcpyAsync per run: from and to anywhere, pageable memory too.
void copy_one_by_one(std::span<const CopyItem> runs, CopyLane& lane);
/// From device memory to device memory, by a kernel on all multiprocessors.
void copy_within_device(std::span<const CopyItem> runs, CopyLane& lane);

} // namespace breakeven::cuda
