#pragma once

#include "breakeven/admission.hpp"
#include "breakeven/detail/json_reader.hpp"
#include "breakeven/policy_builder.hpp"

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// Reads a break-even file into a Policy. C++17 with exceptions; needs nlohmann/json.
namespace breakeven {

/// What a break-even file says about where its numbers hold.
struct PolicyFacts {
  std::string status;      ///< measured | predicted | published | imported
  std::string fingerprint; ///< of the node
  std::string cpu_model, device, device_name;
  std::string model, kv_dtype;
  std::int64_t tensor_parallel = 1, chunk_tokens = 0, block_tokens = 0;
  std::vector<std::string> tiers,
      tier_reasons; ///< reasons: why uncalibrated or inconclusive, or ""
};

/// A policy and the facts it was measured under. Movable; about 150 kB on the heap.
struct PolicyFile {
  std::shared_ptr<const Policy> policy;
  PolicyFacts facts;
};

namespace detail {

inline void read_model(const JsonReader& model, PolicyFacts& facts, PolicyBuilder& builder) {
  facts.model = model.at("name").text();
  facts.kv_dtype = model.at("kv_dtype").text();
  facts.tensor_parallel = model.at("tensor_parallel").integer(1);
  facts.chunk_tokens = model.at("chunk_tokens").integer(1);
  facts.block_tokens = model.at("block_tokens").integer(1);
  KvSize kv;
  kv.bytes_per_token = static_cast<double>(model.at("kv_bytes_per_token").integer(0));
  kv.state_bytes = static_cast<double>(model.at("state_bytes").integer(0));
  const JsonReader windows = model.at("kv_windows");
  windows.require_size(0, max_windows);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    kv.window_tokens[i] = static_cast<double>(windows.at(i).at("window_tokens").integer(1));
    kv.window_bytes_per_token[i] =
        static_cast<double>(windows.at(i).at("bytes_per_token").integer(0));
  }
  kv.windows = static_cast<int>(windows.size());
  model.refuse_if(builder.set_model(kv, facts.chunk_tokens, facts.block_tokens,
                                    model.at("checkpoint_tokens").integer(0)));
}

inline std::vector<double> read_axis(const JsonReader& axis, int limit, std::int64_t first) {
  axis.require_size(1, limit);
  std::vector<double> values;
  for (std::size_t i = 0; i < axis.size(); ++i)
    values.push_back(static_cast<double>(axis.at(i).integer(first)));
  return values;
}

inline void read_medians(const JsonReader& row, std::size_t size, std::vector<double>& seconds) {
  row.require_size(static_cast<int>(size), static_cast<int>(size));
  for (std::size_t i = 0; i < size; ++i)
    seconds.push_back(row.at(i).at("median_s").number(0, 1e9));
}

inline void read_prefill(const JsonReader& prefill, PolicyFacts& facts, PolicyBuilder& builder) {
  facts.device = prefill.at("device").text();
  facts.device_name = prefill.at("device_name").text();
  const JsonReader dense = prefill.at("dense");
  const std::vector<double> fresh = read_axis(dense.at("new_tokens"), max_new_points, 1);
  std::vector<double> seconds;
  read_medians(dense.at("seconds"), fresh.size(), seconds);
  dense.at("new_tokens")
      .refuse_if(builder.set_dense(fresh.data(), seconds.data(), static_cast<int>(fresh.size())));
  const JsonReader kinds = prefill.at("attention");
  kinds.require_size(0, 64);
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const JsonReader grid = kinds.at(k);
    const std::vector<double> context = read_axis(grid.at("context_tokens"), max_context_points, 0);
    const std::vector<double> columns = read_axis(grid.at("new_tokens"), max_new_points, 1);
    std::vector<double> values;
    const JsonReader rows = grid.at("seconds");
    rows.require_size(static_cast<int>(context.size()), static_cast<int>(context.size()));
    for (std::size_t q = 0; q < context.size(); ++q)
      read_medians(rows.at(q), columns.size(), values);
    grid.refuse_if(builder.add_attention(context.data(), static_cast<int>(context.size()),
                                         columns.data(), static_cast<int>(columns.size()),
                                         values.data()));
  }
}

inline TierVerdict read_verdict(const JsonReader& verdict) {
  const std::string name = verdict.text();
  for (const TierVerdict v : {TierVerdict::at, TierVerdict::always, TierVerdict::never,
                              TierVerdict::inconclusive, TierVerdict::uncalibrated})
    if (name == to_string(v)) return v;
  verdict.refuse("is not one of at, always, never, inconclusive, uncalibrated");
}

inline TierCost read_load(const JsonReader& load) {
  TierCost cost;
  cost.fixed_s = load.at("fixed_s").at("value").number(0, 1e9);
  cost.piece_s = load.at("piece_s").at("value").number(0, 1e9);
  const JsonReader points = load.at("bandwidth");
  points.require_size(1, max_in_flight_points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    cost.in_flight[i] = static_cast<double>(points.at(i).at("in_flight").integer(1));
    cost.bandwidth_Bps[i] = points.at(i).at("bandwidth_Bps").at("value").number(0, 1e18);
  }
  cost.points = static_cast<int>(points.size());
  return cost;
}

inline void read_tier(const JsonReader& tier, PolicyFacts& facts, PolicyBuilder& builder) {
  const std::string name = tier.at("name").text();
  const JsonReader answer = tier.at("break_even");
  TierVerdict verdict = read_verdict(answer.at("verdict"));
  const std::string status = tier.at("status").text();
  if (status != "calibrated" && status != "uncalibrated")
    tier.at("status").refuse("is not one of calibrated, uncalibrated");
  TierCost cost;
  if (status == "calibrated")
    cost = read_load(tier.at("load"));
  else
    verdict = TierVerdict::uncalibrated;
  cost.chunk_tokens = tier.at("layout").at("chunk_tokens").integer(1);
  cost.pieces_per_chunk = tier.at("layout").at("pieces_per_chunk").integer(0);
  cost.store_Bps = tier.at("store_Bps").number(0, 1e18);
  const std::int64_t tokens = answer.at("tokens").integer(0);
  const std::int64_t hi_tokens = answer.at("hi_tokens").integer(0);
  std::int64_t threshold = tokens;
  if (verdict == TierVerdict::inconclusive) threshold = hi_tokens > 0 ? hi_tokens : Policy::never;
  tier.refuse_if(builder.add_tier(name.c_str(), verdict, threshold, cost));
  facts.tiers.push_back(name);
  const std::string why = answer.at("reason").text(), tier_why = tier.at("reason").text();
  facts.tier_reasons.push_back(tier_why.empty() ? why : tier_why);
}

inline void read_schema(const JsonReader& root) {
  const JsonReader schema = root.at("schema");
  if (schema.at("name").text() != "breakeven")
    schema.at("name").refuse("is not 'breakeven': this is no break-even file");
  const std::string version = schema.at("version").text();
  if (version != "1" && version.compare(0, 2, "1.") != 0)
    schema.at("version").refuse("is '" + printable_text(version) +
                                "', and this library reads schema version 1: calibrate again, or "
                                "use the breakeven release that wrote the file");
}

} // namespace detail

/// Parses the text of a break-even file. `origin` is the name used in messages. Throws
/// policy_file_error: one sentence that names the first offending key by its path. Keys that a
/// newer minor version added are ignored; another major version is refused by name.
inline PolicyFile parse_policy(const std::string& text, const std::string& origin = "policy") {
  const detail::JsonDocument document(text, origin);
  const detail::JsonReader root = document.root();
  detail::read_schema(root);
  auto policy = std::make_shared<Policy>();
  const auto builder = std::make_unique<PolicyBuilder>(*policy);
  PolicyFile file;
  file.facts.status = root.at("status").text();
  file.facts.fingerprint = root.at("node").at("fingerprint").text();
  file.facts.cpu_model = root.at("node").at("cpu_model").text();
  detail::read_model(root.at("model"), file.facts, *builder);
  detail::read_prefill(root.at("prefill"), file.facts, *builder);
  const detail::JsonReader tiers = root.at("tiers");
  tiers.require_size(0, max_tiers);
  for (std::size_t i = 0; i < tiers.size(); ++i)
    detail::read_tier(tiers.at(i), file.facts, *builder);
  const detail::JsonReader lengths = root.at("calibrated_lengths");
  lengths.require_array();
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::int64_t tokens = lengths.at(i).integer(1);
    longest = tokens > longest ? tokens : longest;
  }
  builder->set_longest_calibrated(longest);
  builder->set_measured(file.facts.status == "measured");
  root.at("prefill").refuse_if(builder->finish());
  file.policy = std::move(policy);
  return file;
}

/// Reads and parses a break-even file. Throws policy_file_error.
inline PolicyFile load_policy(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream || text.str().empty())
    throw policy_file_error("cannot read the break-even file '" + path +
                            "': it is missing, empty or not a readable file");
  return parse_policy(text.str(), path);
}

/// The same without exceptions leaving it: an empty `policy` and a sentence in `message`.
inline PolicyFile try_load_policy(const std::string& path, std::string& message) {
  try {
    message.clear();
    return load_policy(path);
  } catch (const std::exception& error) {
    message = error.what();
    return {};
  }
}

} // namespace breakeven
