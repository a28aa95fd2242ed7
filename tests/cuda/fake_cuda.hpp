#pragma once

#include "cuda/runtime/calls.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

/// A fake of the CUDA runtime, named as one: "device" memory is host memory, kernels do nothing,
/// time advances 1 ms per event. Any call can be told to fail. It counts what is alive.
class FakeCuda {
public:
  FakeCuda();
  ~FakeCuda();
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;

  /// The nth call from now (1 = the next) of `name` ("malloc", "host_register", ...) returns
  /// `code`; "*" counts calls of every name. A sticky code is returned by all calls afterwards.
  void fail(const std::string& name, cudaError_t code, std::int64_t nth = 1);
  void fail_always(const std::string& name, cudaError_t code);

  int device_count = 1;
  int driver_version = CUDART_VERSION;
  cudaDeviceProp properties{};
  std::string pci_bus_id; ///< of every device; empty: 0000:0N:00.0
  std::uint64_t memory_bytes = std::uint64_t{64} << 30;
  /// malloc() hands out addresses without memory behind them: for models larger than this machine.
  bool imaginary_memory = false;

  /// Device memory, pinned memory, registrations, streams and events that exist now.
  [[nodiscard]] std::size_t alive() const;
  [[nodiscard]] std::int64_t count(const std::string& name) const;
  [[nodiscard]] std::int64_t total_calls() const { return m_total; }
  [[nodiscard]] std::uint64_t device_bytes() const { return m_device_bytes; }
  /// True when [address, address + bytes) lies within one allocation of device memory.
  [[nodiscard]] bool is_device(const void* address, std::uint64_t bytes) const;
  /// The error that get_last_error() would return now.
  [[nodiscard]] cudaError_t pending() const { return m_pending; }

private:
  friend struct FakeTable;
  cudaError_t enter(const char* name);

  struct Failure {
    cudaError_t code;
    std::int64_t at; ///< 0: always
    std::int64_t seen;
  };
  std::map<std::string, Failure> m_failures;
  std::map<std::string, std::int64_t> m_counts;
  std::int64_t m_total = 0;
  std::map<const std::byte*, std::uint64_t> m_device;
  std::vector<const void*> m_host, m_registered, m_streams, m_events, m_graphs;
  std::uint64_t m_device_bytes = 0;
  std::uintptr_t m_next = std::uintptr_t{1} << 40;
  cudaError_t m_pending = cudaSuccess;
  cudaError_t m_sticky = cudaSuccess;
  std::unique_ptr<breakeven::cuda::SubstituteCalls> m_substitute;
};
