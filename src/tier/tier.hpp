#pragma once

#include "compute/device_buffer.hpp"
#include "measure/workload.hpp"
#include "support/registry.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace breakeven::tier {

/// A parsed `kind:target[,target...][,key=value]...`. The target may be empty.
struct TierSpec {
  std::string text;   ///< as given
  std::string kind;   ///< "memory", "file", ...
  std::string target; ///< "", a directory, ...: the first of `targets`
  std::vector<std::string> targets;
  std::map<std::string, std::string> keys;
};
/// Throws error::usage for an unknown kind or key, a malformed pair or a value that cannot be.
TierSpec parse_tier_spec(const std::string& text);

/// How the KV cache of a prefix lies in the device and in the store.
struct KvLayout {
  std::string name;                  ///< "block over all layers", "per layer, K and V apart", ...
  std::int64_t bytes_per_token = 0;  ///< all layers together, as loaded
  std::int64_t chunk_tokens = 256;   ///< tokens stored and fetched as one object
  std::int64_t block_tokens = 16;    ///< tokens per device block
  std::int64_t pieces_per_chunk = 1; ///< contiguous device-side runs that one chunk scatters into
};

/// One load to time: `pieces` runs of `bytes / pieces` bytes each (the last takes the remainder),
/// at places of the device buffer that are not neighbours.
struct LoadShape {
  std::uint64_t bytes = 0;
  std::uint64_t pieces = 1;
  /// Loads of this shape at once. They start together and the sample ends with the last of them:
  /// by Little's law that is what one load takes while `in_flight` of them are always running.
  int in_flight = 1;
};

/// One of several places that a tier is striped over, measured by itself.
struct PlaceRate {
  std::string place; ///< a directory
  double read_Bps = 0;
};

struct TierOptions {
  KvLayout layout;
  std::uint64_t max_load_bytes =
      0;           ///< largest `LoadShape::bytes * in_flight` that will be asked for
  int threads = 0; ///< 0 = as many as affinity and cgroup quota allow
  std::uint64_t seed = 1;
};

/// A place that holds KV caches. Workloads borrow the tier. One workload runs at a time.
class Tier {
public:
  virtual ~Tier() = default;
  [[nodiscard]] const TierSpec& spec() const { return m_spec; }

  /// Writes the data that loads will read: unique, incompressible, fully written in this run.
  /// Also measures the store side. Throws error::environment (no space, not writable, ...).
  void prepare();

  /// A load from this tier into the device's KV buffer, from the call until the last byte is
  /// usable. Every run reads bytes that no cache holds ("cold"), and is checksummed outside the
  /// timed region.
  std::unique_ptr<measure::Workload> load(const LoadShape& shape);

  /// The same for the best this tier can do (one large file, deep queue, registered buffers), to
  /// show what the engine's way of reading costs. Null where there is no other way than load().
  std::unique_ptr<measure::Workload> ideal_load(const LoadShape& shape);

  /// The layout in use: TierOptions::layout with what the spec overrides.
  [[nodiscard]] const KvLayout& layout() const { return m_options.layout; }
  /// Fewest pieces that load() can deliver `bytes` in: a file tier has one run per chunk at least.
  [[nodiscard]] std::uint64_t min_pieces(std::uint64_t bytes) const { return do_min_pieces(bytes); }

  /// Facts found while preparing: drive model, file system, access method, NUMA node, ...
  [[nodiscard]] const std::map<std::string, std::string>& identity() const { return m_identity; }
  /// Sentences: fall-backs taken and reasons why the numbers may be off.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return m_warnings; }
  /// Not empty: never report this tier as calibrated, with this reason.
  [[nodiscard]] const std::string& disqualified() const { return m_disqualified; }
  /// Upper bound in bytes per second from link or drive facts; 0 = unknown.
  [[nodiscard]] double ceiling_Bps() const { return m_ceiling_Bps; }
  /// How load() reads where there is more than one way: "engine" or "ideal"; else "".
  [[nodiscard]] const std::string& access_mode() const { return m_access_mode; }
  /// Empty unless the tier is striped over several places.
  [[nodiscard]] const std::vector<PlaceRate>& places() const { return m_places; }
  /// Bytes of scratch space the tier holds while it lives.
  [[nodiscard]] std::uint64_t scratch_bytes() const { return m_scratch_bytes; }
  /// Store side: bytes per second with and without fsync; 0 = not measured.
  [[nodiscard]] double store_Bps() const { return m_store_Bps; }
  [[nodiscard]] double store_synced_Bps() const { return m_store_synced_Bps; }
  /// Best read rate found while preparing, as ideal_load() reads; 0 = not measured.
  [[nodiscard]] double ideal_Bps() const { return m_ideal_Bps; }

protected:
  Tier(TierSpec spec, TierOptions options, compute::DeviceBuffer& device);
  virtual void do_prepare() = 0;
  virtual std::unique_ptr<measure::Workload> do_load(const LoadShape& shape) = 0;
  virtual std::unique_ptr<measure::Workload> do_ideal_load(const LoadShape&) { return nullptr; }
  [[nodiscard]] virtual std::uint64_t do_min_pieces(std::uint64_t) const { return 1; }

  /// Adds a sentence once, however often its cause is met.
  void warn(const std::string& sentence);

  TierSpec m_spec;
  TierOptions m_options;
  compute::DeviceBuffer& m_device;
  std::map<std::string, std::string> m_identity;
  std::vector<std::string> m_warnings;
  std::string m_disqualified;
  double m_ceiling_Bps = 0;
  std::uint64_t m_scratch_bytes = 0;
  double m_store_Bps = 0;
  double m_store_synced_Bps = 0;
  double m_ideal_Bps = 0;
  std::string m_access_mode;
  std::vector<PlaceRate> m_places;

private:
  void require(const LoadShape& shape) const;
  bool m_prepared = false;
};

struct TierKind {
  std::string summary;                                   ///< one line for --list
  std::string target;                                    ///< "DIR[,DIR2...]"; "" = takes none
  std::vector<std::pair<std::string, std::string>> keys; ///< key -> what it means
  std::function<std::string()> unavailable_reason;       ///< empty when usable here
  std::function<void(const TierSpec&)> check;            ///< values of keys; throws error::usage
  /// Scratch bytes and host memory that prepare() will take, for --dry-run and free-space checks.
  std::function<std::uint64_t(const TierSpec&, const TierOptions&)> scratch_bytes;
  std::function<std::unique_ptr<Tier>(const TierSpec&, const TierOptions&, compute::DeviceBuffer&)>
      create;
};

/// All kinds compiled in, by name.
const registry<TierKind>& tier_kinds();

std::unique_ptr<Tier> create(const TierSpec& spec, const TierOptions& options,
                             compute::DeviceBuffer& device);

} // namespace breakeven::tier
