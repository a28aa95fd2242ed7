#include "tier/gds_tier.hpp"

#include "node/node.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"
#include "tier/gds_load.hpp"
#include "tier/storage.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

#include <algorithm>
#include <optional>

namespace breakeven::tier {
namespace {

constexpr std::uint64_t most_staging_bytes = 512u << 20;
/// cuFileRead() blocks: threads are what keeps a drive's queue filled.
constexpr int least_threads = 16;

FileSpec file_spec_of(const TierSpec& spec) {
  TierSpec file = spec;
  file.keys.erase("compat");
  file.keys["access"] = "engine";
  file.keys["o_direct"] = "on";
  return parse_file_spec(file);
}

bool measures_compat(const TierSpec& spec) {
  const auto given = spec.keys.find("compat");
  if (given == spec.keys.end() || given->second == "refuse") return false;
  if (given->second == "measure") return true;
  throw error(error_kind::usage, "tier '" + spec.text + "': compat cannot be '" +
                                     printable(given->second) + "'; choose one of: refuse measure");
}

void check_spec(const TierSpec& spec) {
  file_spec_of(spec);
  measures_compat(spec);
  if (spec.targets.size() > 1)
    throw error(error_kind::usage, "tier '" + spec.text + "': it takes one directory");
}

TierOptions with_chunk(TierOptions options, const FileSpec& spec) {
  if (spec.chunk_tokens > 0) options.layout.chunk_tokens = spec.chunk_tokens;
  return options;
}

class GdsTier final : public Tier {
public:
  GdsTier(const TierSpec& spec, const TierOptions& options, compute::DeviceBuffer& device,
          std::string library, std::string root)
      : Tier(spec, with_chunk(options, file_spec_of(spec)), device),
        m_file_spec(file_spec_of(spec)), m_plan(plan_files(m_file_spec, options)),
        m_team(std::max({least_threads, options.threads, node::inspect().usable_cpus})),
        m_library(std::move(library)), m_root(std::move(root)) {}
  ~GdsTier() override {
    if (m_cufile)
      for (std::byte* buffer : m_registered)
        m_cufile->remove_buffer(buffer);
  }

protected:
  void do_prepare() override;
  std::unique_ptr<measure::Workload> do_load(const LoadShape& shape) override {
    return make_load(shape);
  }
  [[nodiscard]] std::uint64_t do_min_pieces(std::uint64_t bytes) const override {
    return bytes / m_plan.chunk_bytes + (bytes % m_plan.chunk_bytes != 0 ? 1 : 0);
  }

private:
  void inspect_directory();
  void register_buffer(std::byte* data, std::uint64_t bytes, const char* name);
  void open_cufile();
  void prove_path();
  std::unique_ptr<GdsLoad> make_load(const LoadShape& shape) {
    const LoadContext context{m_device, *m_ring, m_team, m_options.seed, m_spec.text};
    return std::make_unique<GdsLoad>(context, shape, *m_gds);
  }

  const FileSpec m_file_spec;
  const FilePlan m_plan;
  ThreadTeam m_team;
  const std::string m_library, m_root;
  std::unique_ptr<CuFile> m_cufile;
  std::unique_ptr<FileStore> m_store;
  std::optional<SourceRing> m_ring;
  std::optional<GdsContext> m_gds;
  std::vector<std::byte*> m_registered;
};

void GdsTier::inspect_directory() {
  const ScratchDirectory& directory = m_store->directories().front();
  const Storage storage = inspect_storage(directory.fd());
  m_identity["directory"] = printable(directory.path());
  m_identity["file_system"] = storage.file_system;
  std::string drives;
  for (const Drive& drive : storage.drives)
    drives += (drives.empty() ? "" : "; ") + drive.name +
              (drive.model.empty() ? "" : " " + drive.model) +
              (drive.link.empty() ? "" : " " + drive.link);
  if (!drives.empty()) m_identity["drives"] = drives;
  m_ceiling_Bps = storage.ceiling_Bps();
  if (storage.in_memory)
    m_disqualified = "'" + printable(directory.path()) + "' is on " + storage.file_system +
                     ", which lives in memory: no drive can read it into a GPU";
  for (const std::string& note : directory.notes())
    warn(note);
}

void GdsTier::register_buffer(std::byte* data, std::uint64_t bytes, const char* name) {
  const std::string refusal = m_cufile->add_buffer(data, bytes);
  m_identity[name] = refusal.empty() ? "registered" : "not registered";
  if (refusal.empty())
    m_registered.push_back(data);
  else
    warn(fmt::format("cuFile does not pin {} of device memory ({}), so reads go through a buffer "
                     "of its own",
                     format_bytes(static_cast<double>(bytes)), refusal));
}

void GdsTier::open_cufile() {
  m_device.attach_thread();
  m_cufile = std::make_unique<CuFile>(m_library, m_root);
  m_identity["cufile"] = m_cufile->version();
  const std::string module = m_cufile->nvidia_fs_version();
  m_identity["nvidia_fs"] = module.empty() ? "not loaded" : module;
  m_identity["compat_allowed"] = m_cufile->compat_allowed() ? "yes" : "no";
  register_buffer(m_device.device_address(), m_device.size_bytes(), "kv_buffer");
  GdsStaging staging;
  const std::uint64_t files_in_half = std::max<std::uint64_t>(
      1, std::min(most_staging_bytes / 2, m_options.max_load_bytes) / m_plan.chunk_file_bytes);
  staging.half_bytes = files_in_half * m_plan.chunk_file_bytes;
  staging.data = m_device.device_staging(2 * staging.half_bytes);
  if (staging.data != nullptr) register_buffer(staging.data, 2 * staging.half_bytes, "staging");
  m_gds.emplace(GdsContext{*m_cufile, *m_store, m_store->chunk_files(), m_plan.chunk_bytes,
                           m_plan.chunk_file_bytes, staging});
  m_ring.emplace(m_plan.chunks * m_plan.chunk_bytes, m_plan.chunk_bytes);
}

/// Loads in both ways, and looks at what counted them.
void GdsTier::prove_path() {
  const auto probe = [&](std::uint64_t pieces) {
    const std::uint64_t bytes = std::min(m_plan.chunk_bytes, m_options.max_load_bytes);
    GdsEvidence evidence;
    evidence.nvidia_fs_version = m_cufile->nvidia_fs_version();
    evidence.before = m_cufile->reads();
    evidence.nvidia_fs_before = m_cufile->nvidia_fs_reads();
    make_load({bytes, std::min(pieces, bytes), 1})->run();
    evidence.after = m_cufile->reads();
    evidence.nvidia_fs_after = m_cufile->nvidia_fs_reads();
    return judge_path(evidence);
  };
  m_cufile->count_reads(true);
  GdsPath path = probe(1);
  constexpr std::uint64_t small_piece_bytes = 16u << 10;
  if (path.kind == GdsPath::Kind::peer_to_peer && m_plan.chunk_bytes > small_piece_bytes)
    if (GdsPath other = probe(m_plan.chunk_bytes / small_piece_bytes);
        other.kind != GdsPath::Kind::peer_to_peer)
      path = std::move(other);
  m_cufile->count_reads(false);
  m_identity["path"] = path.sentence;
  if (path.kind == GdsPath::Kind::peer_to_peer) return;
  const std::string what = "this is not GPUDirect Storage, " + path.sentence;
  if (measures_compat(m_spec))
    warn(what);
  else
    m_disqualified = what + "; measure the drive as file:DIR, or this way of using it with "
                            "compat=measure";
}

void GdsTier::do_prepare() {
  if (m_device.device_address() == nullptr)
    throw error(error_kind::environment,
                "tier '" + m_spec.text + "': the KV buffer is not in a GPU's memory (" +
                    m_device.copy_method() + "); choose a GPU with --device, or the tier file:DIR");
  m_store = std::make_unique<FileStore>(m_file_spec, m_plan, m_options.seed);
  inspect_directory();
  if (!m_disqualified.empty()) return;
  m_store->choose_access(DirectMode::on);
  const FileStore::StoreRates rates = m_store->write(m_team);
  m_store_Bps = rates.written_Bps;
  m_store_synced_Bps = rates.synced_Bps;
  m_scratch_bytes = m_plan.scratch_bytes();
  m_identity["scratch"] = m_store->directories().front().method();
  m_identity["threads"] = std::to_string(m_team.threads());
  open_cufile();
  prove_path();
}

std::string gds_unavailable_reason() {
#ifdef BREAKEVEN_HAVE_CUDA
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return "no driver";
  dlclose(driver);
  return CuFile::unavailable_reason();
#else
  return "built without CUDA";
#endif
}

} // namespace

std::unique_ptr<Tier> make_gds_tier(const TierSpec& spec, const TierOptions& options,
                                    compute::DeviceBuffer& device, const std::string& library,
                                    const std::string& root) {
  return std::make_unique<GdsTier>(spec, options, device, library, root);
}

TierKind gds_tier_kind() {
  TierKind kind;
  kind.summary = "files read into GPU memory by the drive (GPUDirect Storage, cuFile)";
  kind.target = "DIR";
  kind.keys = {{"chunk_tokens", "tokens in one file"},
               {"compat", "refuse, or measure what cuFile does when peer-to-peer is not possible"}};
  kind.unavailable_reason = gds_unavailable_reason;
  kind.check = check_spec;
  kind.scratch_bytes = [](const TierSpec& spec, const TierOptions& options) {
    return plan_files(file_spec_of(spec), options).scratch_bytes();
  };
  kind.create = [](const TierSpec& spec, const TierOptions& options,
                   compute::DeviceBuffer& device) -> std::unique_ptr<Tier> {
    return make_gds_tier(spec, options, device, CuFile::default_library());
  };
  return kind;
}

} // namespace breakeven::tier
