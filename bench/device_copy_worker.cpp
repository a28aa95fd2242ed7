// Host-to-device copies of one GPU, or of all: every variant by piece size, loads in flight, both
// directions at once, both ways of pinning, and what GPUs leave each other. Prints one JSON
// document. Usage: breakeven_device_copy_worker [cuda|cuda:N|cuda:all] [MiB] [runs]

#include "cuda/copy/sweep.hpp"
#include "cuda/runtime/check.hpp"
#include "node/nvml.hpp"
#include "support/error.hpp"
#include "tier/host_memory.hpp"
#include "tier/numa.hpp"
#include "tier/pattern.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

using namespace breakeven;
using nlohmann::ordered_json;

namespace {

struct Gpu {
  cuda::CudaDevice device;
  std::unique_ptr<cuda::CudaDeviceBuffer> buffer;
  tier::HostMemory host;
  [[nodiscard]] std::span<std::byte> source() const { return {host.data(), host.bytes()}; }
};

Gpu open(const cuda::CudaDevice& device, std::uint64_t bytes) {
  Gpu gpu{cuda::open_device(device.id), nullptr, tier::HostMemory(bytes, "the source of copies")};
  std::optional<unsigned> near;
  if (const auto node = node::pci_numa_node(device.pci_bus_id)) near = static_cast<unsigned>(*node);
  if (near) tier::bind_memory(gpu.host.data(), bytes, *near);
  tier::fill_pattern(gpu.host.data(), bytes, 1, 0);
  gpu.buffer = std::make_unique<cuda::CudaDeviceBuffer>(gpu.device, bytes, near);
  gpu.buffer->pin_host(gpu.host.data(), bytes);
  return gpu;
}

ordered_json row(const cuda::CopyTime& time) {
  const double bytes =
      static_cast<double>(time.shape.piece_bytes * time.shape.pieces * time.shape.in_flight);
  return {
      {"variant", time.variant},           {"piece_bytes", time.shape.piece_bytes},
      {"pieces", time.shape.pieces},       {"in_flight", time.shape.in_flight},
      {"both_ways", time.shape.both_ways}, {"wall_s", time.wall_s},
      {"device_s", time.device_s},         {"device_Bps", bytes / std::max(time.device_s, 1e-9)}};
}

/// One large copy from memory of cudaHostAlloc: the best plain copy there is.
double plain_Bps(Gpu& gpu, int runs) {
  const cuda::PinnedMemory pinned(gpu.host.bytes());
  std::copy_n(gpu.host.data(), gpu.host.bytes(), pinned.data());
  const cuda::LinkUser user{gpu.buffer.get(), {pinned.data(), pinned.size_bytes()}};
  return cuda::share_link({&user, 1}, runs).front().alone_Bps;
}

ordered_json measure(Gpu& gpu, int runs) {
  ordered_json result = {{"device", gpu.device.id}, {"name", gpu.device.name}};
  if (gpu.buffer->numa_node()) result["numa_node"] = *gpu.buffer->numa_node();
  result["copy_method"] = gpu.buffer->copy_method();
  result["plain_hostalloc_Bps"] = plain_Bps(gpu, runs);
  const cuda::LinkUser registered{gpu.buffer.get(), gpu.source()};
  result["plain_hostregister_Bps"] = cuda::share_link({&registered, 1}, runs).front().alone_Bps;
  // The link as it is right after work: idle links are slowed down.
  const node::Nvml nvml;
  if (const auto index = nvml.find_pci(gpu.device.pci_bus_id)) {
    const node::GpuState state = nvml.state(*index);
    result["pcie"] = {{"generation", state.pcie_generation},
                      {"width", state.pcie_width},
                      {"max_generation", nvml.gpus()[*index].max_pcie_generation},
                      {"max_width", nvml.gpus()[*index].max_pcie_width}};
    result["clock_reasons"] = node::describe_clock_reasons(state.reasons);
  } else {
    result["pcie_reason"] = nvml.unavailable_reason();
  }
  for (const cuda::CopyTime& time : cuda::sweep_copies(*gpu.buffer, gpu.source(), runs))
    result["sweep"].push_back(row(time));
  const std::uint64_t load = std::min<std::uint64_t>(gpu.host.bytes() / 16, 16u << 20);
  for (const bool both_ways : {false, true})
    for (const std::size_t in_flight : {1u, 2u, 4u, 8u}) {
      const cuda::CopyShape shape{256u << 10, load / (256u << 10), in_flight, both_ways};
      result["in_flight"].push_back(row(cuda::time_copies(*gpu.buffer, gpu.source(), shape, runs)));
    }
  return result;
}

void run(const std::string& name, std::uint64_t bytes, int runs) {
  if (const std::string reason = cuda::no_device_reason(); !reason.empty())
    throw error(error_kind::environment, "no copies can be measured: " + reason);
  std::vector<cuda::CudaDevice> devices = {cuda::find_device(name == "cuda:all" ? "cuda" : name)};
  if (name == "cuda:all") devices = cuda::visible_devices();
  std::vector<Gpu> gpus;
  for (const cuda::CudaDevice& device : devices)
    gpus.push_back(open(device, bytes));
  ordered_json document;
  for (Gpu& gpu : gpus) {
    gpu.buffer->attach_thread();
    document["devices"].push_back(measure(gpu, runs));
  }
  std::vector<cuda::LinkUser> users;
  for (const Gpu& gpu : gpus)
    users.push_back({gpu.buffer.get(), gpu.source()});
  const std::vector<cuda::LinkShare> shares = cuda::share_link(users, runs);
  for (std::size_t i = 0; i < shares.size(); ++i)
    document["together"].push_back({{"device", gpus[i].device.id},
                                    {"alone_Bps", shares[i].alone_Bps},
                                    {"together_Bps", shares[i].together_Bps}});
  std::puts(document.dump(1).c_str());
  for (Gpu& gpu : gpus)
    gpu.buffer->unpin_host(gpu.host.data());
}

} // namespace

int main(int argc, char** argv) {
  try {
    const std::uint64_t mib = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 256;
    const int runs = argc > 3 ? std::atoi(argv[3]) : 9;
    run(argc > 1 ? argv[1] : "cuda", std::max<std::uint64_t>(mib, 16) << 20, std::max(runs, 1));
    return 0;
  } catch (const error& e) {
    std::fprintf(stderr, "breakeven_device_copy_worker: %s\n", e.what());
    return e.exit_code();
  }
}
