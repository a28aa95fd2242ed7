#include "predict/predict.hpp"

#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace breakeven::predict {
namespace {

/// Share of a host link's published rate that one copy reaches: 54 to 56 of 64 GB/s on PCIe Gen5
/// (arXiv 2609.11744).
constexpr double link_efficiency = 0.85;
constexpr std::int64_t default_longest = 131072, longest_allowed = std::int64_t{1} << 24;

double parse_number(std::string_view text, const std::string& what, const char* expected) {
  double value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || ec != std::errc{} || end != text.data() + text.size() ||
      !std::isfinite(value))
    throw error(error_kind::usage, what + " '" + printable(text) + "' is not " + expected);
  return value;
}

std::vector<std::int64_t> ascending(std::vector<std::int64_t> values, std::int64_t last) {
  std::erase_if(values, [&](std::int64_t v) { return v >= last || v < 0; });
  values.push_back(last);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

profile::Measurement predicted(double median_s, double fast_s, double slow_s) {
  return {median_s, std::min(median_s, fast_s), std::max(median_s, slow_s), 0, "predicted", {}};
}

TierRate host_memory(const Inputs& inputs) {
  TierRate tier;
  tier.name = "memory";
  const Hardware& device = inputs.node.device;
  const char* key = device.value("chip_link") > 0   ? "chip_link"
                    : device.value("host_link") > 0 ? "host_link"
                                                    : "memory_bandwidth";
  const Fact* fact = device.find(key);
  if (fact == nullptr)
    throw error(error_kind::usage, printable(device.name) +
                                       " has no published host link: give the tiers, such as "
                                       "--tier memory=50GB/s");
  // A copy within host memory reads and writes.
  const double ways = std::string(key) == "memory_bandwidth" ? 2 : 1;
  tier.total_Bps = link_efficiency * fact->value / ways;
  tier.text = fmt::format("memory={}", format_rate(tier.total_Bps));
  tier.identity["rate"] = fmt::format("{:.0f} % of {}", 100 * link_efficiency / ways, fact->text);
  tier.identity["source"] = fact->source + ", " + fact->date;
  return tier;
}

void add_tiers(Inputs& inputs) {
  for (const std::string& text : inputs.request.tiers)
    inputs.tiers.push_back(parse_tier_rate(text));
  if (inputs.tiers.empty()) inputs.tiers.push_back(host_memory(inputs));
  for (std::size_t i = 0; i < inputs.tiers.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (inputs.tiers[i].name == inputs.tiers[j].name)
        throw error(error_kind::usage, "the tier '" + inputs.tiers[i].name + "' is given twice");
}

void check(Request& request, const NodeSpec& node) {
  if (request.model_options.tensor_parallel == 0)
    request.model_options.tensor_parallel = node.count;
  if (request.model_options.tensor_parallel > node.count)
    throw error(error_kind::usage,
                fmt::format("--tp {} needs a node of as many devices: --node {}:{}",
                            request.model_options.tensor_parallel, printable(node.device.name),
                            request.model_options.tensor_parallel));
  if (request.attention_utilisation.value <= 0) request.attention_utilisation = request.utilisation;
  if (!(request.memory_efficiency > 0 && request.memory_efficiency <= 1))
    throw error(error_kind::usage, "--memory-efficiency must be above 0 and at most 1");
}

} // namespace

Utilisation parse_utilisation(const std::string& text, const std::string& what) {
  const char* expected = "a share of the peak such as 0.5, or a range such as 0.4-0.6";
  const auto dash = text.find('-', 1);
  Utilisation u;
  if (dash == std::string::npos) {
    u.value = parse_number(text, what, expected);
    u.lo = 0.7 * u.value;
    u.hi = std::min(1.0, 1.3 * u.value);
  } else {
    u.lo = parse_number(std::string_view(text).substr(0, dash), what, expected);
    u.hi = parse_number(std::string_view(text).substr(dash + 1), what, expected);
    u.value = (u.lo + u.hi) / 2;
  }
  if (!(u.lo > 0 && u.lo <= u.value && u.value <= u.hi && u.hi <= 1))
    throw error(error_kind::usage,
                what + " '" + printable(text) + "' is not " + expected + ", above 0 and at most 1");
  return u;
}

double parse_parameters(const std::string& text, const std::string& what) {
  const char* expected = "a number of parameters such as 8.03e9 or 8.03B";
  const bool billions = !text.empty() && (text.back() == 'B' || text.back() == 'b');
  const double number =
      parse_number(std::string_view(text).substr(0, text.size() - (billions ? 1 : 0)), what,
                   expected) *
      (billions ? 1e9 : 1);
  if (!(number >= 1 && number < 1e16))
    throw error(error_kind::usage, what + " '" + printable(text) + "' is not " + expected);
  return number;
}

Roofline Inputs::roofline(double utilisation, double attention_utilisation) const {
  return Roofline(model, node.device,
                  {utilisation, attention_utilisation, request.memory_efficiency},
                  request.linear_parameters, request.compute_dtype);
}

Roofline Inputs::roofline() const {
  return roofline(request.utilisation.value, request.attention_utilisation.value);
}

double Inputs::link_Bps() const {
  return std::max(node.device.value("host_link"), node.device.value("chip_link"));
}

Inputs resolve(const Request& request) {
  return resolve_on(request, parse_node(request.node));
}

Inputs resolve_on(const Request& request, const NodeSpec& node) {
  Inputs inputs;
  inputs.request = request;
  inputs.node = node;
  check(inputs.request, inputs.node);
  inputs.model = model::read_architecture(request.model, inputs.request.model_options);
  if (request.linear_parameters > 0)
    inputs.model.overrides.push_back(
        fmt::format("linear_parameters={:g} (--linear-parameters)", request.linear_parameters));
  Request& mine = inputs.request;
  if (mine.max_prefix_tokens == 0)
    mine.max_prefix_tokens = inputs.model.max_position_tokens > 0
                                 ? std::min(inputs.model.max_position_tokens, default_longest)
                                 : default_longest;
  if (mine.max_prefix_tokens > longest_allowed)
    throw error(error_kind::usage, "--max-prefix is above 16m tokens");
  mine.chunk_tokens = std::min(mine.chunk_tokens, mine.max_prefix_tokens);
  if (inputs.model.full_bytes_per_token() + inputs.model.index_bytes_per_token() == 0 &&
      model::window_terms(inputs.model).empty())
    throw error(error_kind::bad_input,
                inputs.model.name + " keeps no KV cache per token, so there is no prefix to load");
  add_tiers(inputs);
  inputs.warnings.push_back(
      {"predicted",
       fmt::format("nothing was measured: {:.3g} % of the published peaks ({:.3g} to {:.3g} %) is "
                   "assumed, and intervals are that range; calibrate on the node for real figures",
                   100 * mine.utilisation.value, 100 * mine.utilisation.lo,
                   100 * mine.utilisation.hi)});
  if (inputs.model.tensor_parallel > 1)
    inputs.warnings.push_back(
        {"predicted", fmt::format("bytes and bandwidths are those of one of {} tensor-parallel "
                                  "ranks: {} times as much for the node",
                                  inputs.model.tensor_parallel, inputs.model.tensor_parallel)});
  if (inputs.model.is_hybrid())
    inputs.warnings.push_back(
        {"predicted", "the time of the recurrent scans is not modelled; their GEMMs are"});
  return inputs;
}

std::vector<std::int64_t> step_axis(std::int64_t chunk_tokens) {
  std::vector<std::int64_t> points;
  for (std::int64_t n = 1; n < chunk_tokens; n *= 2)
    points.push_back(n);
  for (std::int64_t eighth = 1; eighth < 8; ++eighth)
    if (chunk_tokens * eighth / 8 > 0) points.push_back(chunk_tokens * eighth / 8);
  return ascending(points, chunk_tokens);
}

std::vector<std::int64_t> context_axis(const model::Architecture& model, std::int64_t last) {
  std::vector<std::int64_t> contexts = {0, 1024, 4096, 16384, 65536};
  for (const model::LayerKind& kind : model.kinds)
    for (const std::int64_t bend : {kind.attention.window_tokens, kind.attention.index_topk})
      if (bend > 0) contexts.push_back(bend);
  return ascending(contexts, last);
}

profile::Prefill predicted_prefill(const Inputs& inputs) {
  const Request& request = inputs.request;
  const Utilisation u = request.utilisation, a = request.attention_utilisation;
  // In this order: the value, all fast, all slow.
  const std::vector<Roofline> rooflines = {
      inputs.roofline(u.value, a.value), inputs.roofline(u.hi, a.hi), inputs.roofline(u.lo, a.lo)};
  const auto at = [&](const auto& seconds) {
    return predicted(seconds(rooflines[0]), seconds(rooflines[1]), seconds(rooflines[2]));
  };
  profile::Prefill prefill;
  prefill.device = "predicted " + inputs.node.device.name;
  prefill.device_name = inputs.node.device.title + " (predicted)";
  prefill.kernel_source =
      fmt::format("roofline at {:.3g} % of the published peaks ({:.3g} to {:.3g} %)", 100 * u.value,
                  100 * u.lo, 100 * u.hi);
  prefill.compute_dtype = rooflines[0].compute_dtype();
  prefill.regime = "predicted";
  prefill.dense.new_tokens = step_axis(request.chunk_tokens);
  for (const Roofline& roofline : rooflines) // where weight streaming gives way to computing
    prefill.dense.new_tokens.push_back(roofline.knee_tokens());
  prefill.dense.new_tokens = ascending(prefill.dense.new_tokens, request.chunk_tokens);
  for (const std::int64_t n : prefill.dense.new_tokens)
    prefill.dense.seconds.push_back(at([&](const Roofline& r) { return r.dense_s(n); }));
  const auto contexts = context_axis(inputs.model, request.max_prefix_tokens);
  for (std::size_t kind = 0; kind < inputs.model.kinds.size(); ++kind) {
    if (!rooflines[0].has_attention(kind)) continue;
    profile::AttentionGrid grid{
        inputs.model.kinds[kind].name, contexts, prefill.dense.new_tokens, {}};
    for (const std::int64_t c : contexts) {
      grid.seconds.emplace_back();
      for (const std::int64_t n : grid.new_tokens)
        grid.seconds.back().push_back(
            at([&](const Roofline& r) { return r.attention_s(kind, c, n); }));
    }
    prefill.attention.push_back(std::move(grid));
  }
  return prefill;
}

double reachable_Bps(const Inputs& inputs, const TierRate& tier,
                     std::vector<profile::Warning>& warnings) {
  const double link_Bps = inputs.link_Bps(), rate_Bps = tier.rate_Bps();
  if (link_Bps <= 0 || rate_Bps <= link_Bps) return rate_Bps;
  warnings.push_back(
      {"link", fmt::format("tier {}: {} is more than the {} that reach one device; "
                           "the latter is used",
                           tier.name, format_rate(rate_Bps), format_rate(link_Bps))});
  return link_Bps;
}

profile::BreakEvenFile predict(const Inputs& inputs) {
  const Request& request = inputs.request;
  profile::BreakEvenFile file;
  file.status = "predicted";
  file.tool = describe_tool(request.argv);
  file.node.cpu_model = "not measured";
  file.node.fingerprint = "predicted";
  const profile::Layout layout = default_layout(request.block_tokens);
  file.model =
      describe_model(inputs.model, request.chunk_tokens, request.block_tokens, layout.chunk_tokens);
  file.prefill = predicted_prefill(inputs);
  file.warnings = inputs.warnings;
  for (const TierRate& tier : inputs.tiers)
    file.tiers.push_back(make_tier(tier, reachable_Bps(inputs, tier, file.warnings),
                                   tier.fixed_s >= 0 ? tier.fixed_s : request.fixed_s, layout));
  file.calibrated_lengths = answer_lengths(request.max_prefix_tokens);
  solve_range(file);
  return file;
}

} // namespace breakeven::predict
