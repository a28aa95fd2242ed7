#include "predict/predict.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace breakeven::predict {

profile::Model describe_model(const model::Architecture& from, std::int64_t chunk_tokens,
                              std::int64_t block_tokens, std::int64_t stored_chunk_tokens) {
  profile::Model model;
  model.name = from.name;
  model.family = from.family;
  model.source = from.source;
  model.parameters = from.parameters;
  model.active_parameters = from.active_parameters;
  for (const model::LayerKind& kind : from.kinds)
    model.layer_kinds.push_back({kind.name, kind.count});
  model.kv_dtype = model::to_string(from.kv_dtype);
  model.kv_bytes_per_token = from.full_bytes_per_token() + from.index_bytes_per_token();
  for (const model::WindowTerm& term : model::window_terms(from))
    model.kv_windows.push_back({term.window_tokens, term.bytes_per_token});
  model.state_bytes = from.state_bytes();
  model.checkpoint_tokens = from.is_hybrid() ? stored_chunk_tokens : 0;
  model.tensor_parallel = from.tensor_parallel;
  model.chunk_tokens = chunk_tokens;
  model.block_tokens = block_tokens;
  model.overrides = from.overrides;
  model.assumptions = from.assumptions;
  return model;
}

profile::Tool describe_tool(const std::vector<std::string>& argv) {
  profile::Tool tool;
  tool.version = BREAKEVEN_VERSION;
  tool.revision = BREAKEVEN_REVISION;
  tool.argv = argv;
  tool.started_utc = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return tool;
}

std::vector<std::int64_t> answer_lengths(std::int64_t last) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = 128; length < last; length *= 2)
    lengths.push_back(length);
  lengths.push_back(last);
  return lengths;
}

profile::Layout default_layout(std::int64_t block_tokens) {
  const std::int64_t blocks = std::max<std::int64_t>(256 / block_tokens, 1);
  return {"one block over all layers", blocks * block_tokens, blocks};
}

profile::Tier make_tier(const TierRate& rate, double rate_Bps, double fixed_s,
                        const profile::Layout& layout) {
  profile::Tier tier;
  tier.name = rate.name;
  tier.spec = rate.text;
  tier.kind = rate.name;
  tier.status = "calibrated";
  tier.identity = rate.identity;
  tier.identity["status"] = "published figures, not measured";
  tier.layout = layout;
  profile::LoadModel load;
  load.fixed_s = {fixed_s, fixed_s, fixed_s};
  load.piece_s = {rate.piece_s, rate.piece_s, rate.piece_s};
  for (const std::int64_t in_flight : {1, 2, 4, 8}) {
    const double each = rate_Bps / static_cast<double>(in_flight);
    load.bandwidth.push_back({in_flight, {each, each, each}});
  }
  tier.load = load;
  return tier;
}

} // namespace breakeven::predict
