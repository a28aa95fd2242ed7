#pragma once

#include "compute/device_buffer.hpp"
#include "cuda/copy/host_pins.hpp"
#include "cuda/copy/variants.hpp"
#include "cuda/runtime/device.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace breakeven::cuda {

/// What was found fastest for pieces of a size, and how fast everything was.
struct CopyChoice {
  std::uint64_t piece_bytes = 0;
  std::string variant;
  struct Rate {
    std::string variant;
    double Bps = 0; ///< by the wall clock, from before the list is made until it is usable
  };
  std::vector<Rate> rates; ///< of all usable variants
};

/// The KV buffer of one GPU. Pieces of pinned host memory are moved by the variant that was the
/// fastest for their size when the memory was pinned; pageable memory goes one by one through the
/// driver's own staging.
class CudaDeviceBuffer final : public compute::DeviceBuffer {
public:
  /// Opens nothing: `device` is the current one of this thread. Throws error::environment when it
  /// has no memory. `numa_node`: of its PCIe slot.
  CudaDeviceBuffer(const CudaDevice& device, std::uint64_t bytes,
                   std::optional<unsigned> numa_node = std::nullopt);
  ~CudaDeviceBuffer() override;

  [[nodiscard]] std::uint64_t size_bytes() const override { return m_memory.size_bytes(); }
  void copy_in(std::uint64_t offset, const std::byte* source, std::size_t bytes) override;
  void copy_in_runs(std::span<const compute::DeviceRun> runs, std::size_t lane = 0) override;
  void synchronize() override;
  void copy_out(std::uint64_t offset, std::byte* destination, std::size_t bytes) override;
  /// Also finds the fastest variants, when the memory is large enough for it and the first such.
  void pin_host(std::byte* address, std::size_t bytes) override;
  void unpin_host(std::byte* address) noexcept override;
  [[nodiscard]] std::byte* device_address() noexcept override { return m_memory.data(); }
  [[nodiscard]] std::byte* device_staging(std::size_t bytes) override;
  [[nodiscard]] std::optional<unsigned> numa_node() const override { return m_numa_node; }
  void attach_thread() override;
  [[nodiscard]] std::string copy_method() const override;

  /// Always this variant from now on; "" = the fastest again. Throws error::usage for an unknown
  /// one and error::environment, with the reason, for one that cannot be used here.
  void use(const std::string& variant);
  /// By piece size; empty until memory was pinned.
  [[nodiscard]] const std::vector<CopyChoice>& choices() const { return m_choices; }
  /// Of the lane's copies so far, to be timed by events; made when missing.
  CopyLane& lane(std::size_t index);
  [[nodiscard]] const CopyFacts& facts() const { return m_facts; }

private:
  void require(std::uint64_t offset, std::uint64_t bytes) const;
  [[nodiscard]] const CopyVariant& variant_for(std::span<const CopyItem> items) const;
  [[nodiscard]] bool within_staging(const std::byte* source, std::uint64_t bytes) const;
  void choose(const std::byte* source, std::uint64_t bytes);
  CopyChoice measure(std::uint64_t piece_bytes, const std::byte* source, std::uint64_t bytes);

  const CudaDevice m_device;
  const std::optional<unsigned> m_numa_node;
  CopyFacts m_facts;
  DeviceMemory m_memory, m_staging;
  HostPins m_pins;
  PinnedMemory m_bounce; ///< of copy_out
  bool m_bounce_tried = false;
  std::vector<std::unique_ptr<CopyLane>> m_lanes;
  std::vector<CopyChoice> m_choices;
  std::string m_forced;
  std::vector<CopyItem> m_pinned, m_pageable, m_scattered; ///< of one call
};

} // namespace breakeven::cuda
