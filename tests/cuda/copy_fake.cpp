#include "cuda/copy_fake.hpp"

#include <cstring>
#include <utility>

namespace {
CopyFake* fake = nullptr;
}

/// The table's functions; the state is the one CopyFake alive. Faults are those of FakeCuda.
struct CopyTable {
  static cudaError_t memcpy_async(void* to, const void* from, std::size_t bytes,
                                  cudaMemcpyKind kind, cudaStream_t stream) {
    if (fake->crosses_region(from, bytes) || fake->crosses_region(to, bytes))
      return cudaErrorInvalidValue;
    if (const cudaError_t code = fake->m_base.memcpy_async(to, to, 0, kind, stream);
        code != cudaSuccess)
      return code;
    fake->queue(stream, [=] { std::memcpy(to, from, bytes); });
    return cudaSuccess;
  }
  static cudaError_t memcpy_batch_async(void** to, const void** from, const std::size_t* bytes,
                                        std::size_t count, cudaStream_t stream) {
    for (std::size_t i = 0; i < count; ++i)
      if (bytes[i] == 0 || fake->crosses_region(from[i], bytes[i])) return cudaErrorInvalidValue;
    if (const cudaError_t code = fake->m_base.memcpy_batch_async(to, from, bytes, 0, stream);
        code != cudaSuccess)
      return code;
    for (std::size_t i = 0; i < count; ++i)
      fake->queue(stream, [d = to[i], s = from[i], n = bytes[i]] { std::memcpy(d, s, n); });
    return cudaSuccess;
  }
  static cudaError_t launch_kernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                   std::size_t shared, cudaStream_t stream) {
    using namespace breakeven::cuda;
    if (const cudaError_t code =
            fake->m_base.launch_kernel(kernel, grid, block, arguments, shared, stream);
        code != cudaSuccess)
      return code;
    const std::uint64_t units = *static_cast<const std::uint64_t*>(arguments[1]);
    if (kernel == items_kernel_address())
      fake->queue(stream, [work = *static_cast<const ItemsWork*>(arguments[0]), units] {
        fake->run_kernel(work, units);
      });
    else if (kernel == slots_kernel_address())
      fake->queue(stream, [work = *static_cast<const SlotsWork*>(arguments[0]), units] {
        fake->run_kernel(work, units);
      });
    return cudaSuccess;
  }
  static cudaError_t stream_synchronize(cudaStream_t stream) {
    const cudaError_t code = fake->m_base.stream_synchronize(stream);
    fake->finish(stream, fake->m_queued);
    return code;
  }
  static cudaError_t device_synchronize() {
    for (auto& [stream, work] : fake->m_work)
      fake->finish(stream, fake->m_queued);
    return fake->m_base.device_synchronize();
  }
  static cudaError_t event_record(cudaEvent_t event, cudaStream_t stream) {
    fake->m_events[event] = {stream, fake->m_queued};
    return fake->m_base.event_record(event, stream);
  }
  static cudaError_t event_synchronize(cudaEvent_t event) {
    const auto [stream, count] = fake->m_events[event];
    fake->finish(stream, count);
    return fake->m_base.event_synchronize(event);
  }
  static cudaError_t stream_wait_event(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    const auto [other, count] = fake->m_events[event];
    fake->queue(stream, [other = other, count = count] { fake->finish(other, count); });
    return fake->m_base.stream_wait_event(stream, event, flags);
  }
  static cudaError_t free(void* address) { // waits for the device, as cudaFree does
    device_synchronize();
    return fake->m_base.free(address);
  }
  static cudaError_t host_register(void* address, std::size_t bytes, unsigned flags) {
    if (fake->largest_registration != 0 && bytes > fake->largest_registration)
      return cudaErrorMemoryAllocation;
    const cudaError_t code = fake->m_base.host_register(address, bytes, flags);
    if (code == cudaSuccess) fake->m_pinned[static_cast<const std::byte*>(address)] = bytes;
    return code;
  }
  static cudaError_t host_unregister(void* address) {
    if (fake->pending()) ++fake->violations;
    fake->m_pinned.erase(static_cast<const std::byte*>(address));
    return fake->m_base.host_unregister(address);
  }
};

CopyFake::CopyFake() : table(breakeven::cuda::calls()), m_base(table) {
  fake = this;
  table.memcpy_async = CopyTable::memcpy_async;
  table.memcpy_batch_async = CopyTable::memcpy_batch_async;
  table.launch_kernel = CopyTable::launch_kernel;
  table.stream_synchronize = CopyTable::stream_synchronize;
  table.device_synchronize = CopyTable::device_synchronize;
  table.event_record = CopyTable::event_record;
  table.event_synchronize = CopyTable::event_synchronize;
  table.stream_wait_event = CopyTable::stream_wait_event;
  table.free = CopyTable::free;
  table.host_register = CopyTable::host_register;
  table.host_unregister = CopyTable::host_unregister;
  m_substitute = std::make_unique<breakeven::cuda::SubstituteCalls>(table);
}

CopyFake::~CopyFake() {
  m_substitute.reset();
  fake = nullptr;
}

void CopyFake::queue(cudaStream_t stream, std::function<void()> run) {
  m_work[stream].push_back({m_queued++, std::move(run)});
}

/// Does what was queued in the stream before `end`.
void CopyFake::finish(cudaStream_t stream, std::size_t end) {
  std::deque<Work>& work = m_work[stream];
  while (!work.empty() && work.front().number < end) {
    const std::function<void()> run = std::move(work.front().run);
    work.pop_front();
    run();
  }
}

bool CopyFake::pending() const {
  for (const auto& [stream, work] : m_work)
    if (!work.empty()) return true;
  return false;
}

bool CopyFake::kernel_can_read(const std::byte* address, std::uint64_t bytes) const {
  if (cuda.is_device(address, bytes)) return true;
  auto next = m_pinned.upper_bound(address);
  return next != m_pinned.begin() &&
         address + bytes <= std::prev(next)->first + std::prev(next)->second;
}

bool CopyFake::crosses_region(const void* address, std::uint64_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(address);
  for (const auto& [region, length] : m_pinned) {
    const bool starts = begin >= region && begin < region + length;
    const bool ends = begin + bytes > region && begin + bytes <= region + length;
    if (bytes > 0 && starts != ends) return true;
  }
  return false;
}

template <class Kernel>
void CopyFake::run_kernel(const Kernel& work, std::uint64_t units) {
  using namespace breakeven::cuda;
  ++kernels;
  if (units != units_in(work)) ++violations;
  if constexpr (std::is_same_v<Kernel, SlotsWork>) {
    if (!kernel_can_read(work.source, work.pieces * work.piece_bytes)) ++violations;
  } else {
    for (std::uint64_t i = 0; i < work.count; ++i)
      if (!kernel_can_read(work.items[i].source, work.items[i].bytes)) ++violations;
  }
  for (std::uint64_t unit = 0; unit < units; ++unit)
    for (unsigned lane = 0; lane < lanes_per_unit; ++lane)
      copy_unit(work, unit, lane);
}
