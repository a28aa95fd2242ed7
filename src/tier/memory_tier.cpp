#include "tier/memory_tier.hpp"

#include "node/node.hpp"
#include "support/error.hpp"
#include "support/units.hpp"
#include "tier/host_memory.hpp"
#include "tier/memory_load.hpp"
#include "tier/numa.hpp"
#include "tier/pattern.hpp"
#include "tier/stream_copy.hpp"
#include "tier/thread_team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

namespace breakeven::tier {
namespace {

constexpr std::uint64_t granule_bytes = 2u << 20;
constexpr std::uint64_t smallest_pool_bytes = 64u << 20;
constexpr std::uint64_t largest_pool_bytes = 1u << 30;
constexpr std::uint64_t caches_in_pool = 4; ///< the pool should be this many last-level caches

constexpr std::uint64_t round_up(std::uint64_t bytes) {
  return (bytes + granule_bytes - 1) / granule_bytes * granule_bytes;
}

std::optional<unsigned> wanted_node(const TierSpec& spec) {
  const auto key = spec.keys.find("node");
  if (key == spec.keys.end()) return std::nullopt;
  const std::int64_t node = parse_count(key->second, "tier '" + spec.text + "': node");
  if (node > std::numeric_limits<int>::max())
    throw error(error_kind::usage, "tier '" + spec.text + "': there is no such NUMA node");
  return static_cast<unsigned>(node);
}

/// Several caches large where memory allows, never smaller than one load unless memory is short:
/// then a load reads the pool more than once, which is still cold when the pool exceeds the cache.
std::uint64_t pool_bytes_for(const TierOptions& options, const node::NodeFacts& facts) {
  const std::uint64_t cache = std::max(facts.last_level_cache_bytes, smallest_pool_bytes);
  std::uint64_t wanted = std::min(caches_in_pool * cache, largest_pool_bytes);
  wanted =
      std::max({wanted, smallest_pool_bytes, std::min(options.max_load_bytes, largest_pool_bytes)});
  if (facts.memory_available_bytes != 0)
    wanted = std::min(wanted, std::max(facts.memory_available_bytes / 2, smallest_pool_bytes));
  return round_up(wanted);
}

class MemoryTier final : public Tier {
public:
  MemoryTier(const TierSpec& spec, const TierOptions& options, compute::DeviceBuffer& device)
      : Tier(spec, options, device), m_facts(node::inspect()), m_node(wanted_node(spec)),
        m_team(options.threads > 0 ? options.threads : std::max(1, m_facts.usable_cpus)),
        m_source(pool_bytes_for(options, m_facts), granule_bytes) {}
  ~MemoryTier() override {
    if (m_pool.data() != nullptr) m_device.unpin_host(m_pool.data());
  }

protected:
  void do_prepare() override {
    identify_node();
    require_memory();
    m_pool = HostMemory(m_source.total_bytes(), "the source of the memory tier");
    if (m_node) bind();
    bind_near_device();
    fill(m_pool.bytes());
    m_device.pin_host(m_pool.data(), m_pool.bytes());
    m_scratch_bytes = m_pool.bytes();
    m_identity["threads"] = std::to_string(m_team.threads());
    m_identity["pool"] = format_bytes(static_cast<double>(m_pool.bytes()));
    m_identity["copy"] =
        m_device.host_address() != nullptr ? stream_copy_method() : m_device.copy_method();
    if (m_pool.bytes() < 2 * m_facts.last_level_cache_bytes)
      warn(fmt::format("memory: the source of {} is less than twice the last-level cache of {}, so "
                       "part of what loads read may come from the cache",
                       m_identity["pool"],
                       format_bytes(static_cast<double>(m_facts.last_level_cache_bytes))));
    measure_store();
    measure_other_nodes();
  }

  std::unique_ptr<measure::Workload> do_load(const LoadShape& shape) override {
    const LoadContext context{m_device, m_source, m_team, m_options.seed, m_spec.text};
    return std::make_unique<MemoryLoad>(context, shape, m_pool.data());
  }

private:
  void identify_node() {
    const std::vector<NumaNode> nodes = numa_nodes();
    m_identity["numa_nodes"] = std::to_string(nodes.size());
    if (!m_node) {
      m_identity["numa_node"] = "where the system puts it";
      return;
    }
    const auto found = std::find_if(nodes.begin(), nodes.end(),
                                    [&](const NumaNode& node) { return node.id == *m_node; });
    if (found == nodes.end()) {
      std::string ids;
      for (const NumaNode& node : nodes)
        ids += fmt::format(" {}", node.id);
      throw error(error_kind::environment,
                  fmt::format("tier '{}': this machine has no NUMA node {} with memory; it has:{}",
                              m_spec.text, *m_node, ids));
    }
    m_identity["numa_node"] = std::to_string(found->id);
    m_identity["memory"] = !found->has_cpus ? "cxl" : found->local ? "local" : "remote";
  }

  void require_memory() const {
    const std::uint64_t available = m_facts.memory_available_bytes;
    if (available == 0 || available > m_source.total_bytes()) return;
    throw error(error_kind::environment,
                fmt::format("tier '{}': needs {} of host memory, and {} is available here; ask for "
                            "a shorter --max-prefix",
                            m_spec.text, format_bytes(static_cast<double>(m_source.total_bytes())),
                            format_bytes(static_cast<double>(available))));
  }

  void bind() {
    const std::string refusal = bind_memory(m_pool.data(), m_pool.bytes(), *m_node);
    if (!refusal.empty())
      throw error(error_kind::environment,
                  fmt::format("tier '{}': memory cannot be bound to NUMA node {}: {}", m_spec.text,
                              *m_node, refusal));
  }

  void fill(std::uint64_t bytes) {
    m_team.run(bytes / granule_bytes, [&](std::size_t i) {
      fill_pattern(m_pool.data() + i * granule_bytes, granule_bytes, m_options.seed,
                   i * granule_bytes);
    });
  }

  void bind_near_device();
  void measure_store();
  void measure_other_nodes();
  double read_rate(const HostMemory& from);
  double copy_rate(std::byte* to, const std::byte* from, std::uint64_t bytes);

  const node::NodeFacts m_facts;
  const std::optional<unsigned> m_node;
  ThreadTeam m_team;
  SourceRing m_source;
  HostMemory m_pool;
};

/// Bytes per second of one streaming copy by all threads.
double MemoryTier::copy_rate(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  using clock = std::chrono::steady_clock;
  const clock::time_point start = clock::now();
  m_team.run(bytes / granule_bytes, [&](std::size_t i) {
    stream_copy(to + i * granule_bytes, from + i * granule_bytes, granule_bytes);
  });
  return static_cast<double>(bytes) / std::chrono::duration<double>(clock::now() - start).count();
}

/// Offload: from the device's buffer back to host memory. Memory has nothing to sync. The target is
/// a part of the pool, written anew afterwards: fresh memory would cost page faults, which take
/// longest where a hypervisor has to find the pages.
void MemoryTier::measure_store() {
  using clock = std::chrono::steady_clock;
  const std::uint64_t bytes =
      std::min(m_pool.bytes() / 4, m_options.max_load_bytes) / granule_bytes * granule_bytes;
  if (bytes == 0) return;
  for (int round = 0; round < 3; ++round) {
    if (const std::byte* device = m_device.host_address()) {
      m_store_Bps = std::max(m_store_Bps, copy_rate(m_pool.data(), device, bytes));
      continue;
    }
    const clock::time_point start = clock::now();
    m_device.copy_out(0, m_pool.data(), bytes);
    const std::chrono::duration<double> seconds = clock::now() - start;
    m_store_Bps = std::max(m_store_Bps, static_cast<double>(bytes) / seconds.count());
  }
  fill(bytes);
}

/// Unless the spec says otherwise, the data is where a server that knows its GPU puts it.
void MemoryTier::bind_near_device() {
  const std::optional<unsigned> near = m_device.numa_node();
  if (m_node || !near) return;
  const std::string refusal = bind_memory(m_pool.data(), m_pool.bytes(), *near);
  m_identity["numa_node"] =
      refusal.empty() ? fmt::format("{} (the device's)", *near) : "where the system puts it";
  if (!refusal.empty())
    warn(
        fmt::format("memory: it cannot be bound to the device's NUMA node {}: {}", *near, refusal));
}

/// Best bytes per second of whole copies into the device's buffer.
double MemoryTier::read_rate(const HostMemory& from) {
  using clock = std::chrono::steady_clock;
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    if (std::byte* device = m_device.host_address()) {
      best = std::max(best, copy_rate(device, from.data(), from.bytes()));
      continue;
    }
    const clock::time_point start = clock::now();
    m_device.copy_in(0, from.data(), from.bytes());
    m_device.synchronize();
    const std::chrono::duration<double> seconds = clock::now() - start;
    best = std::max(best, static_cast<double>(from.bytes()) / seconds.count());
  }
  return best;
}

/// The wrong node is where memory lands when nobody binds it: say what that costs.
void MemoryTier::measure_other_nodes() {
  const std::vector<NumaNode> nodes = numa_nodes();
  const std::uint64_t bytes =
      std::min(m_pool.bytes() / 4, m_options.max_load_bytes) / granule_bytes * granule_bytes;
  if (nodes.size() < 2 || m_node || bytes == 0) return;
  const std::optional<unsigned> near = m_device.numa_node();
  for (const NumaNode& node : nodes) {
    HostMemory far(bytes, "measuring another NUMA node");
    if (!bind_memory(far.data(), bytes, node.id).empty()) continue;
    fill_pattern(far.data(), bytes, m_options.seed, 0);
    m_device.pin_host(far.data(), bytes);
    const double rate = read_rate(far);
    m_device.unpin_host(far.data());
    const bool local = near ? node.id == *near : node.local;
    m_identity[fmt::format("read_from_node_{}", node.id)] =
        fmt::format("{} ({})", format_rate(rate),
                    !node.has_cpus ? "cxl"
                    : local        ? "local"
                                   : "remote");
  }
}

} // namespace

TierKind memory_tier_kind() {
  TierKind kind;
  kind.summary = "host memory, copied into the device's KV buffer";
  kind.keys = {{"node", "NUMA node that holds the data (a node without CPUs is reported as cxl)"}};
  kind.unavailable_reason = [] { return std::string(); };
  kind.check = [](const TierSpec& spec) { wanted_node(spec); };
  kind.scratch_bytes = [](const TierSpec&, const TierOptions& options) {
    return pool_bytes_for(options, node::inspect());
  };
  kind.create = [](const TierSpec& spec, const TierOptions& options,
                   compute::DeviceBuffer& device) -> std::unique_ptr<Tier> {
    return std::make_unique<MemoryTier>(spec, options, device);
  };
  return kind;
}

} // namespace breakeven::tier
