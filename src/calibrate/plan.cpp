#include "calibrate/plan.hpp"

#include "support/error.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace breakeven::calibrate {
namespace {

constexpr std::int64_t smallest_prefix_tokens = 1024;

/// Keeps what lies below `last`, then adds `last`, so that both edges of the range are measured.
std::vector<std::int64_t> up_to(std::vector<std::int64_t> values, std::int64_t last) {
  std::erase_if(values, [&](std::int64_t value) { return value >= last; });
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  values.push_back(last);
  return values;
}

/// Powers of two would only ever meet the sizes that kernels are tuned for.
std::vector<std::int64_t> dense_grid(std::int64_t chunk) {
  return up_to(
      {1, chunk / 128, 3 * chunk / 128, chunk / 16, 5 * chunk / 32, 3 * chunk / 8, 11 * chunk / 16},
      chunk);
}

std::vector<std::int64_t> context_grid(const model::Architecture& architecture, std::int64_t last) {
  std::vector<std::int64_t> contexts = {0, 1024, 4096, 16384, 65536};
  // Windowed attention stops growing at its window: without a point there the bend is missed.
  for (const model::WindowTerm& term : model::window_terms(architecture))
    contexts.push_back(term.window_tokens);
  return up_to(contexts, last);
}

std::vector<GridPoint> check_points(const Plan& plan) {
  const std::int64_t chunk = plan.request.chunk_tokens;
  std::vector<GridPoint> points = {{0, chunk / 2}};
  if (plan.max_prefix_tokens >= 4 * chunk) points.push_back({3 * chunk, chunk / 4});
  if (plan.max_prefix_tokens >= 8 * chunk) points.push_back({6 * chunk, chunk});
  std::erase_if(points, [](const GridPoint& point) { return point.new_tokens < 1; });
  return points;
}

std::vector<std::int64_t> answer_lengths(std::int64_t last) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = 128; length < last; length *= 2)
    lengths.push_back(length);
  return up_to(lengths, last);
}

tier::KvLayout layout_of(const model::Architecture& architecture, const Request& request) {
  tier::KvLayout layout;
  layout.name = "one block over all layers";
  layout.bytes_per_token =
      architecture.full_bytes_per_token() + architecture.index_bytes_per_token();
  for (const model::WindowTerm& term : model::window_terms(architecture))
    layout.bytes_per_token += term.bytes_per_token;
  layout.block_tokens = request.block_tokens;
  layout.chunk_tokens =
      std::max<std::int64_t>(256 / request.block_tokens, 1) * request.block_tokens;
  layout.pieces_per_chunk = layout.chunk_tokens / layout.block_tokens;
  return layout;
}

std::vector<TierPlan> plan_tiers(const Plan& plan, const tier::TierOptions& options) {
  const bool requested = !plan.request.tiers.empty();
  const std::vector<std::string> texts =
      requested
          ? plan.request.tiers
          : std::vector<std::string>{"memory", "file:" + std::filesystem::current_path().string()};
  std::vector<TierPlan> tiers;
  for (const std::string& text : texts) {
    TierPlan tier;
    tier.spec = tier::parse_tier_spec(text);
    tier.requested = requested;
    for (const TierPlan& before : tiers)
      if (before.spec.text == tier.spec.text)
        throw error(error_kind::usage, "the tier '" + text + "' is given twice");
    const tier::TierKind& kind = tier::tier_kinds().at(tier.spec.kind);
    tier.unavailable = kind.unavailable_reason();
    if (tier.unavailable.empty()) tier.scratch_bytes = kind.scratch_bytes(tier.spec, options);
    tiers.push_back(std::move(tier));
  }
  return tiers;
}

/// Host memory that one token of prefix needs while all is alive: the KV buffer and the tiers'
/// source pool; compute comes on top.
constexpr double copies_of_kv = 2.25;
constexpr double usable_share = 0.75; // of what is available: others live here too
constexpr std::uint64_t least_compute_bytes = std::uint64_t{256} << 20;

void fit_into_memory(Plan& plan) {
  const double usable = usable_share * static_cast<double>(plan.node.memory_available_bytes);
  const auto needed = [&](std::int64_t tokens) {
    return copies_of_kv * static_cast<double>(plan.architecture.kv_bytes(tokens)) +
           static_cast<double>(least_compute_bytes);
  };
  std::int64_t tokens = plan.request.max_prefix_tokens;
  while (tokens > smallest_prefix_tokens && needed(tokens) > usable)
    tokens /= 2;
  tokens = std::max(tokens / plan.layout.chunk_tokens, std::int64_t{1}) * plan.layout.chunk_tokens;
  if (needed(tokens) > usable)
    throw error(
        error_kind::environment,
        fmt::format(
            "not enough memory: a prefix of {} tokens of {} needs about {} and {} are usable here; "
            "choose a smaller model or free memory",
            format_tokens(tokens), plan.architecture.name, format_bytes(needed(tokens)),
            format_bytes(usable)));
  if (tokens < plan.request.max_prefix_tokens - plan.layout.chunk_tokens + 1)
    plan.warnings.push_back(
        {"memory",
         fmt::format("memory holds prefixes of {} tokens, not the {} asked for: lengths beyond are "
                     "extrapolated",
                     format_tokens(tokens), format_tokens(plan.request.max_prefix_tokens))});
  plan.max_prefix_tokens = tokens;
  plan.kv_buffer_bytes =
      static_cast<std::uint64_t>(plan.layout.bytes_per_token) * static_cast<std::uint64_t>(tokens);
  plan.compute_memory_bytes =
      static_cast<std::uint64_t>(usable - needed(tokens)) + least_compute_bytes;
}

} // namespace

Plan make_plan(const Request& request) {
  Plan plan;
  plan.request = request;
  if (request.chunk_tokens > request.max_prefix_tokens)
    throw error(error_kind::usage, "--chunk-tokens is larger than --max-prefix");
  plan.node = node::inspect();
  plan.device = compute::resolve_device(request.device);
  if (request.model.empty())
    plan.request.model = plan.device == "cpu" ? "llama-3.2-1b" : "llama-3.1-8b";
  plan.architecture = model::read_architecture(plan.request.model, request.model_options);
  plan.layout = layout_of(plan.architecture, request);
  if (plan.layout.bytes_per_token == 0)
    throw error(error_kind::bad_input,
                plan.architecture.name +
                    " keeps no KV cache per token, so there is no prefix to load or recompute");
  fit_into_memory(plan);
  plan.request.chunk_tokens = std::min(request.chunk_tokens, plan.max_prefix_tokens);
  plan.dense_new = dense_grid(plan.request.chunk_tokens);
  plan.attention_context = context_grid(plan.architecture, plan.max_prefix_tokens);
  plan.attention_new = up_to({1, plan.request.chunk_tokens / 32, plan.request.chunk_tokens / 4},
                             plan.request.chunk_tokens);
  plan.step_checks = check_points(plan);
  plan.lengths = answer_lengths(plan.max_prefix_tokens);
  const SweepLimits limits{plan.max_prefix_tokens, plan.kv_buffer_bytes};
  plan.sweep = sweep_of(plan.architecture, plan.layout, limits);
  plan.layouts = layouts_of(plan.architecture, plan.layout, limits);
  tier::TierOptions options;
  options.layout = plan.layout;
  options.max_load_bytes = plan.kv_buffer_bytes;
  options.threads = request.threads;
  plan.tiers = plan_tiers(plan, options);
  if (!request.output.empty()) profile::require_writable(request.output);
  return plan;
}

} // namespace breakeven::calibrate
