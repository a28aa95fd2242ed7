#pragma once

#include "cuda/copy/copy_kernels.hpp"
#include "cuda/fake_cuda.hpp"
#include "cuda/runtime/calls.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>

/// A fake GPU, named as one, whose copies really copy: "device" memory is host memory. Work waits
/// in its stream until somebody waits for it, so that memory that is used again too early shows.
/// The copy kernels run on the host, by their own index arithmetic.
class CopyFake {
public:
  CopyFake();
  ~CopyFake();
  CopyFake(const CopyFake&) = delete;
  CopyFake& operator=(const CopyFake&) = delete;

  FakeCuda cuda;
  breakeven::cuda::Calls table;
  std::int64_t kernels = 0;
  /// Kernels that read memory neither pinned nor on the device; memory unpinned while in use.
  std::int64_t violations = 0;
  /// Registrations of more than this are refused; 0 = none is.
  std::uint64_t largest_registration = 0;

private:
  friend struct CopyTable;
  struct Work {
    std::size_t number; ///< in the order of all streams together
    std::function<void()> run;
  };
  void queue(cudaStream_t stream, std::function<void()> run);
  void finish(cudaStream_t stream, std::size_t end);
  [[nodiscard]] bool pending() const;
  [[nodiscard]] bool kernel_can_read(const std::byte* address, std::uint64_t bytes) const;
  [[nodiscard]] bool crosses_region(const void* address, std::uint64_t bytes) const;
  template <class Kernel>
  void run_kernel(const Kernel& work, std::uint64_t units);

  breakeven::cuda::Calls m_base;
  std::map<cudaStream_t, std::deque<Work>> m_work;
  std::size_t m_queued = 0;
  std::map<cudaEvent_t, std::pair<cudaStream_t, std::size_t>> m_events;
  std::map<const std::byte*, std::uint64_t> m_pinned;
  std::unique_ptr<breakeven::cuda::SubstituteCalls> m_substitute;
};
