#include "tier/file_tier.hpp"

#include "measure/statistics.hpp"
#include "node/node.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"
#include "tier/file_load.hpp"
#include "tier/numa.hpp"
#include "tier/read_search.hpp"
#include "tier/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

namespace breakeven::tier {
namespace {

constexpr std::uint64_t staging_bytes = 64u << 20;
constexpr unsigned uring_depth = 256, thread_depth = 32;

TierOptions with_chunk(TierOptions options, const FileSpec& spec) {
  if (spec.chunk_tokens > 0) options.layout.chunk_tokens = spec.chunk_tokens;
  return options;
}

int threads_for(const TierOptions& options) {
  return options.threads > 0 ? options.threads : std::max(1, node::inspect().usable_cpus);
}

class FileTier final : public Tier {
public:
  FileTier(const TierSpec& spec, const TierOptions& options, compute::DeviceBuffer& device)
      : Tier(spec, with_chunk(options, parse_file_spec(spec)), device),
        m_file_spec(parse_file_spec(spec)), m_plan(plan_files(m_file_spec, options)),
        m_team(threads_for(options)) {
    m_access_mode = m_plan.chunks > 0 ? "engine" : "ideal";
  }
  ~FileTier() override {
    if (m_staging.data() != nullptr) m_device.unpin_host(m_staging.data());
  }

protected:
  void do_prepare() override;
  std::unique_ptr<measure::Workload> do_load(const LoadShape& shape) override;
  std::unique_ptr<measure::Workload> do_ideal_load(const LoadShape& shape) override;
  [[nodiscard]] std::uint64_t do_min_pieces(std::uint64_t bytes) const override {
    if (m_plan.chunks == 0) return 1;
    return bytes / m_plan.chunk_bytes + (bytes % m_plan.chunk_bytes != 0 ? 1 : 0);
  }

private:
  void inspect_directories();
  void inspect_directory(const ScratchDirectory& directory, const std::string& suffix);
  void open_queues();
  void register_with(ReadQueue& queue);
  void prove_direct();
  void tune();
  double read_large(const StoreFiles& files, const TransferOptions& options, std::uint64_t bytes);
  double large_rate(const StoreFiles& files, int rounds);
  void note_rate(double Bps);
  std::string suffix(std::size_t directory) const {
    return m_file_spec.directories.size() == 1 ? "" : fmt::format("_{}", directory + 1);
  }

  const FileSpec m_file_spec;
  const FilePlan m_plan;
  ThreadTeam m_team;
  HostMemory m_staging;
  std::unique_ptr<FileStore> m_store;
  std::unique_ptr<ReadQueue> m_engine_queue, m_ideal_queue;
  std::unique_ptr<Transfer> m_engine, m_ideal;
  std::optional<SourceRing> m_chunk_ring, m_large_ring;
  StoreFiles m_large;
  TransferOptions m_reads;
  std::uint64_t m_next_probe = 0;
};

void FileTier::inspect_directory(const ScratchDirectory& directory, const std::string& suffix) {
  const Storage storage = inspect_storage(directory.fd());
  const std::string place = fmt::format("'{}'", printable(directory.path()));
  const auto fact = [&](const char* name, const std::string& value) {
    if (!value.empty()) m_identity[name + suffix] = value;
  };
  fact("directory", printable(directory.path()));
  fact("file_system", storage.file_system);
  fact("mount_options", storage.mount_options);
  fact("source", storage.source);
  fact("block_devices", storage.stack);
  std::string drives;
  for (const Drive& drive : storage.drives)
    drives += fmt::format("{}{}{}{}{}{}", drives.empty() ? "" : "; ", drive.name,
                          drive.model.empty() ? "" : fmt::format(" {}", drive.model),
                          drive.firmware.empty() ? "" : fmt::format(" firmware {}", drive.firmware),
                          drive.link.empty() ? "" : fmt::format(" {}", drive.link),
                          drive.rotational ? " (rotational)" : "");
  fact("drives", drives);
  m_ceiling_Bps += storage.ceiling_Bps();
  if (storage.in_memory)
    m_disqualified =
        place + " is on " + storage.file_system +
        (storage.loop_file.empty() && storage.drives.empty() ? "" : " on a memory disk") +
        ", which lives in memory: it is no disk; name a directory on a drive";
  if (storage.network)
    warn(place + " is on a network file system (" + storage.file_system +
         "): its server's cache cannot be seen or dropped, so reads may be faster than its drives");
  if (storage.compressing)
    warn(place + " is on a file system that compresses (" + storage.file_system +
         "): the data of this measurement cannot be compressed, real KV caches might be");
  if (storage.virtual_disk)
    warn(place + " is on a virtual disk: the host's cache cannot be seen or dropped, and a rate "
                 "limit of the host may let short runs look faster than long ones");
}

void FileTier::inspect_directories() {
  m_ceiling_Bps = 0;
  std::vector<ScratchDirectory>& directories = m_store->directories();
  bool all_known = true;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const double before = m_ceiling_Bps;
    inspect_directory(directories[i], suffix(i));
    all_known &= m_ceiling_Bps > before;
    for (const std::string& note : directories[i].notes())
      warn(note);
  }
  if (!all_known) m_ceiling_Bps = 0;
}

void FileTier::open_queues() {
  const std::string refusal = io_uring_unavailable_reason();
  const auto make = [&] {
    return refusal.empty() ? make_uring_queue(uring_depth) : make_thread_queue(thread_depth);
  };
  if (!refusal.empty()) warn("io_uring: " + refusal + "; threads that call pread() replace it");
  m_identity["reads"] = refusal.empty() ? "io_uring" : "pread threads";
  m_staging = HostMemory(staging_bytes, "the staging ring");
  if (const auto node = m_device.numa_node())
    if (const std::string unbound = bind_memory(m_staging.data(), m_staging.bytes(), *node);
        !unbound.empty())
      warn("the staging ring cannot be bound to the device's NUMA node: " + unbound);
  std::memset(m_staging.data(), 0, m_staging.bytes()); // no page faults in the first load
  m_device.pin_host(m_staging.data(), m_staging.bytes());
  m_engine_queue = make();
  m_engine = std::make_unique<Transfer>(*m_engine_queue, m_device, m_staging);
  if (m_plan.ideal_bytes == 0) return;
  m_ideal_queue = make();
  m_ideal = std::make_unique<Transfer>(*m_ideal_queue, m_device, m_staging);
}

/// Reads of the large files land in memory that the kernel knows.
void FileTier::register_with(ReadQueue& queue) {
  std::vector<iovec> areas = {{m_staging.data(), m_staging.bytes()}};
  if (std::byte* host = m_device.host_address()) areas.push_back({host, m_device.size_bytes()});
  const std::string buffers = queue.register_buffers(areas);
  if (!buffers.empty()) warn(buffers);
  m_identity["buffers"] =
      buffers.empty() && m_identity["reads"] == "io_uring" ? "registered" : "not registered";
  const std::string files = queue.register_files(m_large.open_fds);
  if (!files.empty()) warn(files);
  m_large.registered = files.empty();
}

/// Some file systems accept O_DIRECT and read through the page cache all the same.
void FileTier::prove_direct() {
  if (!m_store->direct()) return;
  const bool engine = m_plan.chunks > 0;
  const std::uint64_t bytes = std::min({engine ? m_plan.chunk_bytes : stripe_bytes,
                                        m_options.max_load_bytes, std::uint64_t{64u << 20}});
  const PieceMap whole(bytes, 1, 1);
  const TransferOptions options{1u << 20, 4, m_store->alignment()};
  (engine ? *m_engine : *m_ideal)
      .run(engine ? m_store->chunk_files() : m_large, whole, {{0, 0}}, options);
  const std::int64_t held = m_store->cached();
  if (held <= 0) return;
  m_store->give_up_direct();
  warn("O_DIRECT is accepted here but reads go through the page cache, which is therefore dropped "
       "before each load");
  if (m_store->drop_page_cache() != 0)
    m_disqualified = "the page cache of its file system can be neither avoided nor dropped";
}

void FileTier::do_prepare() {
  m_store = std::make_unique<FileStore>(m_file_spec, m_plan, m_options.seed);
  inspect_directories();
  if (!m_disqualified.empty()) return;
  const std::string buffered = m_store->choose_access(m_file_spec.direct);
  if (!buffered.empty())
    warn(buffered + "; the files' pages are dropped from the page cache before each load instead");
  open_queues();
  const FileStore::StoreRates rates = m_store->write(m_team);
  m_store_Bps = rates.written_Bps;
  m_store_synced_Bps = rates.synced_Bps;
  m_scratch_bytes = m_plan.scratch_bytes();
  m_reads.alignment = m_store->alignment();
  if (m_plan.ideal_bytes > 0) {
    m_large = m_store->ideal_files();
    register_with(*m_ideal_queue);
    m_large_ring.emplace(m_plan.ideal_bytes, stripe_bytes);
  }
  if (m_plan.chunks > 0)
    m_chunk_ring.emplace(m_plan.chunks * m_plan.chunk_bytes, m_plan.chunk_bytes);
  prove_direct();
  m_reads.alignment = m_store->alignment();
  m_identity["scratch"] = m_store->directories().front().method();
  m_identity["page_cache"] = m_store->direct() ? "bypassed (O_DIRECT)" : "dropped before each load";
  m_identity["alignment"] = fmt::format("{} bytes", m_store->alignment());
  if (m_disqualified.empty()) tune();
}

/// Seconds to read the next `bytes` of the large files.
double FileTier::read_large(const StoreFiles& files, const TransferOptions& options,
                            std::uint64_t bytes) {
  using clock = std::chrono::steady_clock;
  if (!m_store->direct()) m_store->drop_page_cache();
  TransferOptions aligned = options;
  aligned.alignment = m_store->alignment();
  const PieceMap whole(bytes, 1, 1);
  const std::vector<TransferPart> parts = {{m_next_probe % files.total_bytes, 0}};
  m_next_probe += (bytes + stripe_bytes - 1) / stripe_bytes * stripe_bytes;
  const clock::time_point start = clock::now();
  m_ideal->run(files, whole, parts, aligned);
  return std::chrono::duration<double>(clock::now() - start).count();
}

double FileTier::large_rate(const StoreFiles& files, int rounds) {
  const std::uint64_t bytes = std::min(files.total_bytes, m_options.max_load_bytes);
  std::vector<double> rates;
  for (int round = 0; round < rounds; ++round)
    rates.push_back(static_cast<double>(bytes) / std::max(read_large(files, m_reads, bytes), 1e-9));
  return measure::median(rates);
}

/// Finds request size and depth, and the rate of the ideal access.
void FileTier::tune() {
  if (m_ideal) {
    const ReadSearchLimits limits{std::min(m_plan.ideal_bytes, m_options.max_load_bytes),
                                  staging_bytes, m_ideal_queue->depth(),
                                  m_device.host_address() != nullptr};
    const auto read = [&](const TransferOptions& options, std::uint64_t bytes) {
      return read_large(m_large, options, bytes);
    };
    m_reads = search_reads(limits, m_options.seed, read);
    m_reads.alignment = m_store->alignment();
    m_ideal_Bps = large_rate(m_large, 5);
    m_identity["ideal_read"] = format_rate(m_ideal_Bps);
    note_rate(m_ideal_Bps);
    for (std::size_t i = 0; m_file_spec.directories.size() > 1 && i < m_large.open_fds.size();
         ++i) {
      StoreFiles one = m_store->ideal_files(i);
      one.registered = m_large.registered;
      m_places.push_back({m_file_spec.directories[i], large_rate(one, 3)});
      m_identity["ideal_read" + suffix(i)] = format_rate(m_places.back().read_Bps);
    }
  }
  m_identity["requests"] = fmt::format(
      "{}, {} in flight per load, {}", format_bytes(static_cast<double>(m_reads.request_bytes)),
      m_reads.depth, m_reads.in_place ? "in place" : "through a ring of host buffers");
  inspect_directories(); // once more: an idle PCIe link may have been slowed down to save power
}

/// A rate that the link cannot carry is a cache's.
void FileTier::note_rate(double Bps) {
  constexpr double tolerance = 1.02;
  if (m_ceiling_Bps > 0 && Bps > tolerance * m_ceiling_Bps)
    warn(fmt::format("{}: reads at {} are faster than the {} that the drives' links carry, so part "
                     "of them came from a cache",
                     m_spec.text, format_rate(Bps), format_rate(m_ceiling_Bps)));
}

std::unique_ptr<measure::Workload> FileTier::do_load(const LoadShape& shape) {
  if (m_plan.chunks == 0) return do_ideal_load(shape);
  const LoadContext context{m_device, *m_chunk_ring, m_team, m_options.seed, m_spec.text};
  return std::make_unique<FileLoad>(context, shape, *m_store, m_store->chunk_files(), *m_engine,
                                    m_reads, [this](double Bps) { note_rate(Bps); });
}

std::unique_ptr<measure::Workload> FileTier::do_ideal_load(const LoadShape& shape) {
  if (!m_ideal) return nullptr;
  const LoadContext context{m_device, *m_large_ring, m_team, m_options.seed,
                            m_spec.text + " (ideal)"};
  return std::make_unique<FileLoad>(context, shape, *m_store, m_large, *m_ideal, m_reads,
                                    [this](double Bps) { note_rate(Bps); });
}

} // namespace

TierKind file_tier_kind() {
  TierKind kind;
  kind.summary = "files on a drive or a network file system, one per chunk of tokens";
  kind.target = "DIR[,DIR2...]";
  kind.keys = {
      {"access", "engine (a file per chunk, opened and closed), ideal (one large file) or both"},
      {"chunk_tokens", "tokens in one file"},
      {"o_direct", "auto, on (fail without it) or off (drop the page cache before each load)"}};
  kind.unavailable_reason = [] { return std::string(); };
  kind.check = [](const TierSpec& spec) { parse_file_spec(spec); };
  kind.scratch_bytes = [](const TierSpec& spec, const TierOptions& options) {
    return plan_files(parse_file_spec(spec), options).scratch_bytes();
  };
  kind.create = [](const TierSpec& spec, const TierOptions& options,
                   compute::DeviceBuffer& device) -> std::unique_ptr<Tier> {
    return std::make_unique<FileTier>(spec, options, device);
  };
  return kind;
}

} // namespace breakeven::tier
