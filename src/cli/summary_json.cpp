#include "cli/summary.hpp"

#include <nlohmann/json.hpp>

namespace breakeven::cli {
namespace {

using namespace profile;
using json = nlohmann::ordered_json;

json estimate(const Estimate& e) {
  return {{"value", e.value}, {"lo", e.lo}, {"hi", e.hi}};
}

/// Rates instead of the samples that the file holds.
void add_extras(json& result, const Tier& tier) {
  result["store_Bps"] = tier.store_Bps;
  result["store_synced_Bps"] = tier.store_synced_Bps;
  const auto rate = [](std::int64_t bytes, const Measurement& m) {
    return m.median_s > 0 ? static_cast<double>(bytes) / m.median_s : 0;
  };
  if (tier.access) {
    json& access = result["access"];
    access = {{"mode", tier.access->mode}, {"engine_share", tier.access->engine_share}};
    for (const SweepPoint& point : tier.access->ideal)
      access["ideal"].push_back(
          {{"bytes", point.bytes}, {"rate_Bps", rate(point.bytes, point.seconds)}});
    for (const PlaceRate& place : tier.access->places)
      access["places"].push_back({{"place", place.place}, {"read_Bps", place.read_Bps}});
  }
  for (std::size_t i = 0; tier.layouts && i < tier.layouts->size(); ++i) {
    const LayoutCost& layout = (*tier.layouts)[i];
    result["layouts"].push_back({{"name", layout.name},
                                 {"piece_bytes", layout.bytes / layout.pieces},
                                 {"rate_Bps", rate(layout.bytes, layout.seconds)}});
  }
  if (tier.contention)
    result["contention"] = {{"new_tokens", tier.contention->new_tokens},
                            {"load_slowdown", tier.contention->load_slowdown},
                            {"prefill_slowdown", tier.contention->prefill_slowdown}};
}

json tier_json(const Tier& tier) {
  json result = {
      {"name", tier.name}, {"kind", tier.kind}, {"status", tier.status}, {"reason", tier.reason}};
  if (tier.load) {
    result["fixed_s"] = estimate(tier.load->fixed_s);
    result["piece_s"] = estimate(tier.load->piece_s);
    for (const BandwidthPoint& point : tier.load->bandwidth)
      result["bandwidth"].push_back(
          {{"in_flight", point.in_flight}, {"bandwidth_Bps", estimate(point.bandwidth_Bps)}});
    result["holdout_median_error"] = tier.load->holdout_median_error;
    result["holdout_worst_error"] = tier.load->holdout_worst_error;
  }
  add_extras(result, tier);
  const BreakEven& b = tier.break_even;
  result["break_even"] = {
      {"verdict", to_string(b.verdict)}, {"reason", b.reason},       {"tokens", b.tokens},
      {"lo_tokens", b.lo_tokens},        {"hi_tokens", b.hi_tokens}, {"confidence", b.confidence}};
  return result;
}

json length_json(const LengthAnswer& length) {
  json result = {{"prefix_tokens", length.prefix_tokens},
                 {"kv_bytes", length.kv_bytes},
                 {"recompute_s", estimate(length.saved_s)},
                 {"break_even_Bps", length.break_even_Bps},
                 {"tiers", json::array()}};
  for (const TierAnswer& answer : length.tiers)
    result["tiers"].push_back(
        {{"tier", answer.tier}, {"load_s", estimate(answer.load_s)}, {"winner", answer.winner}});
  return result;
}

std::string text_of(const json& document) {
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace

std::string summary_json(const BreakEvenFile& file) {
  json document = {{"status", file.status},
                   {"model", file.model.name},
                   {"device", file.prefill.device},
                   {"device_name", file.prefill.device_name},
                   {"kernel_source", file.prefill.kernel_source},
                   {"compute_dtype", file.prefill.compute_dtype},
                   {"chunk_tokens", file.model.chunk_tokens},
                   {"started_utc", file.tool.started_utc},
                   {"duration_s", file.tool.duration_s},
                   {"tiers", json::array()},
                   {"lengths", json::array()},
                   {"frontier", json::array()},
                   {"warnings", json::array()}};
  for (const Tier& tier : file.tiers)
    document["tiers"].push_back(tier_json(tier));
  for (const LengthAnswer& length : file.lengths)
    document["lengths"].push_back(length_json(length));
  for (const FrontierPoint& point : file.frontier)
    document["frontier"].push_back({{"tier", point.tier},
                                    {"prompt_tokens", point.prompt_tokens},
                                    {"fraction", point.fraction}});
  for (const Warning& warning : file.warnings)
    document["warnings"].push_back({{"code", warning.code}, {"message", warning.message}});
  return text_of(document);
}

std::string plan_json(const calibrate::Plan& plan) {
  json document = {{"model", plan.architecture.name},
                   {"device", plan.device},
                   {"max_prefix_tokens", plan.max_prefix_tokens},
                   {"kv_buffer_bytes", plan.kv_buffer_bytes},
                   {"chunk_tokens", plan.request.chunk_tokens},
                   {"estimated_s", plan.request.budget_s},
                   {"output", plan.request.output},
                   {"dense_new_tokens", plan.dense_new},
                   {"attention_context_tokens", plan.attention_context},
                   {"attention_new_tokens", plan.attention_new},
                   {"loads_per_tier", plan.sweep.size()},
                   {"tiers", json::array()},
                   {"warnings", json::array()}};
  for (const calibrate::TierPlan& tier : plan.tiers)
    document["tiers"].push_back({{"spec", tier.spec.text},
                                 {"scratch_bytes", tier.scratch_bytes},
                                 {"unavailable", tier.unavailable}});
  for (const Warning& warning : plan.warnings)
    document["warnings"].push_back(warning.message);
  return text_of(document);
}

} // namespace breakeven::cli
