#include "cuda/copy/cuda_device_buffer.hpp"

#include "cuda/copy/copy_plan.hpp"
#include "cuda/runtime/check.hpp"
#include "support/error.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace breakeven::cuda {
namespace {

constexpr std::uint64_t bounce_bytes = std::uint64_t{8} << 20;
constexpr std::uint64_t least_bounce_bytes = std::uint64_t{256} << 10;
constexpr std::uint64_t least_measured_bytes = std::uint64_t{8} << 20;
constexpr std::uint64_t most_measured_bytes = std::uint64_t{32} << 20;
constexpr std::uint64_t most_measured_pieces = 2048;
constexpr int rounds = 5;
/// An earlier variant of the table is kept unless a later one is faster by more than noise.
constexpr double clearly_faster = 1.03;
constexpr std::uint64_t piece_sizes[] = {4096,   16384,    65536,
                                         262144, 1u << 20, std::uint64_t{4} << 20};

std::string size_text(std::uint64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

} // namespace

CudaDeviceBuffer::CudaDeviceBuffer(const CudaDevice& device, std::uint64_t bytes,
                                   std::optional<unsigned> numa_node)
    : m_device(device), m_numa_node(numa_node), m_facts(copy_facts()),
      m_memory(bytes, "the KV buffer") {
  lane(0);
}

CudaDeviceBuffer::~CudaDeviceBuffer() {
  // Nothing may still read or write memory that is about to be freed.
  for (const auto& each : m_lanes)
    static_cast<void>(succeeded(calls().stream_synchronize(each->stream.get())));
}

CopyLane& CudaDeviceBuffer::lane(std::size_t index) {
  while (m_lanes.size() <= index)
    m_lanes.push_back(std::make_unique<CopyLane>(m_device.multiprocessors));
  return *m_lanes[index];
}

void CudaDeviceBuffer::require(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset > size_bytes() || bytes > size_bytes() - offset)
    throw error(error_kind::measurement,
                fmt::format("a copy of {} bytes at {} would leave the KV buffer of {} bytes", bytes,
                            offset, size_bytes()));
}

void CudaDeviceBuffer::copy_in(std::uint64_t offset, const std::byte* source, std::size_t bytes) {
  const compute::DeviceRun run{offset, source, bytes};
  copy_in_runs({&run, 1});
}

bool CudaDeviceBuffer::within_staging(const std::byte* source, std::uint64_t bytes) const {
  const std::byte* begin = m_staging.data();
  return begin != nullptr && source >= begin &&
         static_cast<std::uint64_t>(source - begin) + bytes <= m_staging.size_bytes();
}

void CudaDeviceBuffer::copy_in_runs(std::span<const compute::DeviceRun> runs, std::size_t index) {
  CopyLane& in = lane(index);
  m_pinned.clear();
  m_pageable.clear();
  m_scattered.clear();
  HostPins::Part last; // most runs lie in the region of the one before
  for (const compute::DeviceRun& run : runs) {
    require(run.offset, run.bytes);
    std::byte* to = m_memory.data() + run.offset;
    if (run.bytes > 0 && run.source >= last.begin && run.source + run.bytes <= last.end) {
      m_pinned.push_back({run.source, to, run.bytes});
      continue;
    }
    if (run.bytes > 0 && within_staging(run.source, run.bytes)) {
      m_scattered.push_back({run.source, to, run.bytes});
      continue;
    }
    for (std::uint64_t done = 0; done < run.bytes;) {
      const HostPins::Part part = m_pins.part(run.source + done, run.bytes - done);
      (part.pinned ? m_pinned : m_pageable).push_back({run.source + done, to + done, part.bytes});
      if (part.pinned) last = part;
      done += part.bytes;
    }
  }
  if (!m_scattered.empty()) copy_within_device(m_scattered, in);
  if (!m_pinned.empty()) variant_for(m_pinned).copy(m_pinned, in);
  if (!m_pageable.empty()) copy_one_by_one(m_pageable, in);
}

/// The choice for the mean size of the pieces, by the nearest size that was measured.
const CopyVariant& CudaDeviceBuffer::variant_for(std::span<const CopyItem> items) const {
  if (!m_forced.empty()) return copy_variants().at(m_forced);
  if (m_choices.empty()) return copy_variants().at("memcpy");
  const double mean = static_cast<double>(total_bytes(items)) / static_cast<double>(items.size());
  const auto distance = [&](const CopyChoice& choice) {
    return std::abs(std::log(mean / static_cast<double>(choice.piece_bytes)));
  };
  const auto nearest = std::min_element(
      m_choices.begin(), m_choices.end(),
      [&](const CopyChoice& a, const CopyChoice& b) { return distance(a) < distance(b); });
  return copy_variants().at(nearest->variant);
}

void CudaDeviceBuffer::synchronize() {
  for (const auto& each : m_lanes)
    each->stream.synchronize();
}

void CudaDeviceBuffer::copy_out(std::uint64_t offset, std::byte* destination, std::size_t bytes) {
  require(offset, bytes);
  if (!m_bounce_tried) m_bounce = allocate_pinned(bounce_bytes, least_bounce_bytes);
  m_bounce_tried = true;
  CopyLane& out = lane(0);
  const auto copy = [&](std::byte* to, std::uint64_t from, std::uint64_t part) {
    check(calls().memcpy_async(to, m_memory.data() + from, part, cudaMemcpyDeviceToHost,
                               out.stream.get()),
          "copying from the device");
  };
  // Pinned memory, or pageable memory that cannot be bounced: straight there.
  const bool straight = m_bounce.empty() || m_pins.part(destination, bytes).pinned;
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t part = straight
                                   ? m_pins.part(destination + done, bytes - done).bytes
                                   : std::min<std::uint64_t>(bytes - done, m_bounce.size_bytes());
    copy(straight ? destination + done : m_bounce.data(), offset + done, part);
    if (!straight) {
      out.stream.synchronize();
      std::memcpy(destination + done, m_bounce.data(), part);
    }
    done += part;
  }
  out.stream.synchronize();
}

void CudaDeviceBuffer::pin_host(std::byte* address, std::size_t bytes) {
  const std::uint64_t pinned = m_pins.pin(address, bytes);
  m_facts.kernels_read_host = m_pins.readable_by_kernels();
  if (m_choices.empty() && pinned >= least_measured_bytes) choose(address, pinned);
}

void CudaDeviceBuffer::unpin_host(std::byte* address) noexcept {
  for (const auto& each : m_lanes)
    static_cast<void>(succeeded(calls().stream_synchronize(each->stream.get())));
  m_pins.unpin(address);
}

std::byte* CudaDeviceBuffer::device_staging(std::size_t bytes) {
  if (m_staging.size_bytes() >= bytes) return m_staging.data();
  synchronize();
  m_staging = DeviceMemory();
  m_staging = DeviceMemory(bytes, "data on its way to its place");
  return m_staging.data();
}

void CudaDeviceBuffer::attach_thread() {
  check(calls().set_device(m_device.ordinal), "opening " + m_device.id);
}

void CudaDeviceBuffer::use(const std::string& variant) {
  if (!variant.empty())
    if (const std::string reason = copy_variants().at(variant).unavailable_reason(m_facts);
        !reason.empty())
      throw error(error_kind::environment,
                  "copies by '" + variant + "' cannot be used on " + m_device.id + ": " + reason);
  m_forced = variant;
}

/// Pieces go to places in a scattered order, as engines' block tables have them.
CopyChoice CudaDeviceBuffer::measure(std::uint64_t piece_bytes, const std::byte* source,
                                     std::uint64_t bytes) {
  using clock = std::chrono::steady_clock;
  const std::uint64_t pieces =
      std::clamp<std::uint64_t>(bytes / piece_bytes, 1, most_measured_pieces);
  constexpr std::uint64_t stride = 1021; // a prime, larger than what is near in any list
  CopyChoice choice;
  choice.piece_bytes = piece_bytes;
  std::vector<compute::DeviceRun> runs;
  for (const auto& [name, variant] : copy_variants().rows()) {
    if (!variant.unavailable_reason(m_facts).empty()) continue;
    m_forced = name;
    double best_s = 0;
    try {
      for (int round = 0; round <= rounds; ++round) { // the first makes what is made at first use
        const clock::time_point start = clock::now();
        runs.clear();
        for (std::uint64_t i = 0; i < pieces; ++i)
          runs.push_back({(pieces % stride == 0 ? i : i * stride % pieces) * piece_bytes,
                          source + i * piece_bytes, piece_bytes});
        copy_in_runs(runs);
        synchronize();
        const double seconds = std::chrono::duration<double>(clock::now() - start).count();
        if (round > 0 && (best_s == 0 || seconds < best_s)) best_s = seconds;
      }
    } catch (const error&) { // no memory for staging, say: the other variants remain
      static_cast<void>(succeeded(calls().device_synchronize()));
      continue;
    }
    choice.rates.push_back(
        {name, static_cast<double>(pieces * piece_bytes) / std::max(best_s, 1e-9)});
  }
  m_forced.clear();
  double best = 0;
  for (const CopyChoice::Rate& rate : choice.rates)
    if (rate.Bps > clearly_faster * best) {
      best = rate.Bps;
      choice.variant = rate.variant;
    }
  return choice;
}

void CudaDeviceBuffer::choose(const std::byte* source, std::uint64_t bytes) {
  const std::uint64_t most = std::min({bytes, size_bytes(), most_measured_bytes});
  const std::string forced = m_forced;
  for (const std::uint64_t piece_bytes : piece_sizes) {
    if (piece_bytes > most) break;
    CopyChoice choice = measure(piece_bytes, source, most);
    if (!choice.variant.empty()) m_choices.push_back(std::move(choice));
  }
  m_forced = forced;
}

std::string CudaDeviceBuffer::copy_method() const {
  const std::uint64_t asked = m_pins.asked_bytes(), pinned = m_pins.pinned_bytes();
  if (pinned == 0) return "pageable host memory (cudaMemcpyAsync)";
  std::string text = "pinned host memory (cudaHostRegister)";
  if (pinned < asked)
    text += fmt::format(", of which {} could not be pinned and is copied as pageable memory",
                        size_text(asked - pinned));
  if (!m_forced.empty()) return text + ": " + m_forced;
  if (m_choices.empty()) return text + ": memcpy";
  text += ": ";
  for (std::size_t i = 0; i < m_choices.size(); ++i) {
    const bool last = i + 1 == m_choices.size();
    if (!last && m_choices[i + 1].variant == m_choices[i].variant) continue;
    text += m_choices[i].variant;
    if (!last) text += " up to " + size_text(m_choices[i].piece_bytes) + " a piece, ";
  }
  return text;
}

} // namespace breakeven::cuda
