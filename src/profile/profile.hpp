#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// The break-even file as values. Field names equal the JSON keys; breakeven.schema.json is the
/// contract and json.cpp the only translation. SI base units throughout.
namespace breakeven::profile {

inline constexpr const char* schema_name = "breakeven";
inline constexpr int schema_major = 1;
inline constexpr int schema_minor = 1;
inline constexpr const char* schema_version = "1.1.0";

/// A sampled time: median with its interval, and everything needed to judge it.
struct Measurement {
  double median_s = 0, lo_s = 0, hi_s = 0;
  std::int64_t count = 0;
  std::string stopped; ///< measure::to_string(StopReason), or "predicted" / "published"
  std::vector<double> samples_s;
};

/// A fitted or derived value with its interval.
struct Estimate {
  double value = 0, lo = 0, hi = 0;
};

struct Tool {
  std::string version, revision;
  std::vector<std::string> argv;
  std::string started_utc; ///< RFC 3339
  double duration_s = 0;
};

struct WindowTerm {
  std::int64_t window_tokens = 0, bytes_per_token = 0;
};

struct LayerKind {
  std::string name;
  std::int64_t count = 0;
};

struct Model {
  std::string name, family, source;
  std::int64_t parameters = 0, active_parameters = 0; ///< 0 = unknown
  std::vector<LayerKind> layer_kinds;
  std::string kv_dtype;
  std::int64_t kv_bytes_per_token = 0; ///< grows without bound: full attention, latent, index keys
  std::vector<WindowTerm> kv_windows;
  std::int64_t state_bytes = 0;
  std::int64_t checkpoint_tokens =
      0; ///< a hybrid's prefix is loadable at multiples of this; 0 = anywhere
  std::int64_t tensor_parallel = 1, chunk_tokens = 2048, block_tokens = 16;
  std::vector<std::string> overrides, assumptions;
};

/// Time of the part of a step that depends on `new` only, all layers.
struct DenseCurve {
  std::vector<std::int64_t> new_tokens; ///< ascending, first 1, last chunk_tokens
  std::vector<Measurement> seconds;     ///< one per entry of new_tokens
};

/// Time of attention in all layers of one kind, over a full rectangular grid.
struct AttentionGrid {
  std::string layer_kind;
  std::vector<std::int64_t> context_tokens;      ///< ascending, first 0
  std::vector<std::int64_t> new_tokens;          ///< ascending
  std::vector<std::vector<Measurement>> seconds; ///< [context][new]
};

struct StepCheck {
  std::int64_t context_tokens = 0, new_tokens = 0;
  Measurement measured;
  double predicted_s = 0, relative_error = 0; ///< (predicted - measured) / measured
};

struct Prefill {
  std::string device, device_name, kernel_source, compute_dtype, regime;
  std::int64_t threads = 0;
  DenseCurve dense;
  std::vector<AttentionGrid> attention;
  std::vector<StepCheck> step_checks;
};

struct BandwidthPoint {
  std::int64_t in_flight = 1;
  Estimate bandwidth_Bps; ///< of one load while `in_flight` of them run
};

/// Pieces up to piece_bytes cost another rate than the bytes beyond: where submitting small pieces
/// overlaps with moving them, or small requests do not reach full bandwidth.
struct PieceKnee {
  std::int64_t piece_bytes = 0;
  Estimate below_s_per_byte; ///< 0 = small pieces cost the same whatever their size
};

struct LoadModel {
  Estimate fixed_s, piece_s;
  std::vector<BandwidthPoint> bandwidth; ///< ascending in_flight, first 1
  double holdout_median_error = 0,
         holdout_worst_error = 0; ///< relative, at points left out of the fit
  /// Absent in nearly all tiers: bytes cost 1 / bandwidth each. Else, with n pieces of b bytes in
  /// all, min(b, n * piece_bytes) of them cost below_s_per_byte and the others 1 / bandwidth.
  std::optional<PieceKnee> knee;
};

struct SweepPoint {
  std::int64_t bytes = 0, pieces = 0, in_flight = 1;
  bool holdout = false;
  Measurement seconds;
};

enum class Verdict { at, always, never, inconclusive, uncalibrated };
const char* to_string(Verdict verdict);

struct BreakEven {
  Verdict verdict = Verdict::uncalibrated;
  std::string reason;      ///< one sentence for inconclusive and uncalibrated
  std::int64_t tokens = 0; ///< `at`: the length; `always`: the smallest calibrated length
  /// Interval of the length. hi_tokens 0 = "does not win within the calibrated range".
  std::int64_t lo_tokens = 0, hi_tokens = 0;
  double confidence = 0.95;
};

struct Layout {
  std::string name;
  std::int64_t chunk_tokens = 256,
               pieces_per_chunk = 1; ///< pieces(p) = ceil(p / chunk_tokens) * pieces_per_chunk
};

/// The rate of one of several places that a tier is striped over, by itself.
struct PlaceRate {
  std::string place;
  double read_Bps = 0;
};

/// A tier that can be read in two ways: as engines do (a file per chunk of tokens, opened and
/// closed) and as fast as it goes (one large file). The gap is advice.
struct Access {
  std::string mode;              ///< of the loads in `sweep`: "engine" or "ideal"
  std::vector<SweepPoint> ideal; ///< some of those loads, made the ideal way
  double engine_share = 0;       ///< rate as engines read / ideal rate, largest load; 0 = one way
  std::vector<PlaceRate> places; ///< more than one: their ideal rates, one by one
};

/// What the same bytes cost in the pieces that an engine's layout, or a plain size, cuts them in.
struct LayoutCost {
  std::string name; ///< "per layer, K and V apart", "pieces of 64 KiB", ...
  std::int64_t bytes = 0, pieces = 0;
  Measurement seconds;
};

/// Loads while prefill runs on the device, and what each does to the other.
struct Contention {
  std::int64_t bytes = 0, pieces = 0, new_tokens = 0; ///< the load; the step that is repeated
  double load_alone_s = 0, prefill_alone_s = 0;
  Measurement load, prefill;                      ///< both at once
  double load_slowdown = 0, prefill_slowdown = 0; ///< median at once / alone
};

struct Tier {
  std::string name, spec, kind;
  std::string status; ///< "calibrated" or "uncalibrated"
  std::string reason; ///< not empty when uncalibrated
  std::map<std::string, std::string> identity;
  Layout layout;
  std::optional<LoadModel> load; ///< absent when uncalibrated
  std::vector<SweepPoint> sweep;
  double store_Bps = 0, store_synced_Bps = 0; ///< 0 = not measured
  std::optional<Access> access;
  std::optional<std::vector<LayoutCost>> layouts;
  std::optional<Contention> contention;
  BreakEven break_even;
};

struct TierAnswer {
  std::string tier;
  Estimate load_s;
  std::string winner; ///< "load", "recompute" or "tie" (intervals overlap)
};

/// One prefix length, resident = 0 and prompt = prefix_tokens + 1.
struct LengthAnswer {
  std::int64_t prefix_tokens = 0, kv_bytes = 0;
  Estimate saved_s;
  double break_even_Bps = 0; ///< kv_bytes / saved_s: what a tier without fixed cost must deliver to
                             ///< tie; 0 = nothing is saved
  std::vector<TierAnswer> tiers;
};

struct FrontierPoint {
  std::string tier;
  std::int64_t prompt_tokens = 0;
  double fraction = 0; ///< smallest cached fraction from which loading wins; above 1 = none does
};

struct Warning {
  std::string code, message;
};

struct Node {
  std::string cpu_model, os, kernel, hypervisor, governor, fingerprint;
  std::int64_t logical_cpus = 0, usable_cpus = 0, numa_nodes = 0;
  std::int64_t memory_bytes = 0, memory_limit_bytes = 0, last_level_cache_bytes = 0;
  std::vector<std::string> cpu_features;
  std::map<std::string, std::string> libraries;
};

struct BreakEvenFile {
  std::string status; ///< measured | predicted | published | imported
  Tool tool;
  Node node;
  Model model;
  Prefill prefill;
  std::vector<Tier> tiers;
  std::vector<std::int64_t> calibrated_lengths; ///< prefix lengths the break-even search covered
  std::vector<LengthAnswer> lengths;
  std::vector<FrontierPoint> frontier;
  std::vector<Warning> warnings;
};

/// Serialises; throws error::measurement when a number is not finite (nothing is ever written
/// then).
std::string to_json_text(const BreakEvenFile& file);

/// Strict: unknown schema major, missing or extra-typed keys, values out of range are refused with
/// error::bad_input naming the key by path. `origin` is the name used in messages.
BreakEvenFile from_json_text(const std::string& text, const std::string& origin);

BreakEvenFile read_file(const std::string& path);

/// Temporary name in the same directory, fsync, rename: `path` is either old or new, never torn.
/// Throws error::environment (no space, not writable, no such directory).
void write_file(const BreakEvenFile& file, const std::string& path);

/// Opens the temporary file now, so that a run of a minute does not end in "cannot write".
/// Throws what write_file would throw for an unwritable place.
void require_writable(const std::string& path);

} // namespace breakeven::profile
