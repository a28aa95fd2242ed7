#include "admission/sample.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <memory>

namespace sample {

using breakeven::TierVerdict;

static Numbers doubles(const std::vector<std::int64_t>& values) {
  return Numbers(values.begin(), values.end());
}

breakeven::Policy make_policy(const File& file) {
  breakeven::Policy policy;
  breakeven::PolicyBuilder builder(policy);
  breakeven::KvSize kv;
  kv.bytes_per_token = static_cast<double>(file.kv_bytes_per_token);
  kv.state_bytes = static_cast<double>(file.state_bytes);
  for (const Window& window : file.windows) {
    kv.window_tokens[kv.windows] = static_cast<double>(window.tokens);
    kv.window_bytes_per_token[kv.windows++] = static_cast<double>(window.bytes_per_token);
  }
  REQUIRE(builder.set_model(kv, file.chunk, file.block, file.checkpoint) == nullptr);
  const Numbers dense_new = doubles(file.dense_new);
  REQUIRE(builder.set_dense(dense_new.data(), file.dense.data(),
                            static_cast<int>(file.dense.size())) == nullptr);
  for (const Grid& grid : file.grids) {
    Numbers flat;
    for (const Numbers& row : grid.seconds)
      flat.insert(flat.end(), row.begin(), row.end());
    const Numbers context = doubles(grid.context), fresh = doubles(grid.fresh);
    const char* wrong =
        builder.add_attention(context.data(), static_cast<int>(context.size()), fresh.data(),
                              static_cast<int>(fresh.size()), flat.data());
    INFO((wrong ? wrong : ""));
    REQUIRE(wrong == nullptr);
  }
  for (const TierData& tier : file.tiers) {
    breakeven::TierCost cost;
    cost.fixed_s = tier.fixed_s;
    cost.piece_s = tier.piece_s;
    cost.chunk_tokens = tier.chunk_tokens;
    cost.pieces_per_chunk = tier.pieces_per_chunk;
    cost.store_Bps = tier.store_Bps;
    if (tier.verdict != TierVerdict::uncalibrated)
      for (std::size_t i = 0; i < tier.in_flight.size(); ++i) {
        cost.in_flight[i] = static_cast<double>(tier.in_flight[i]);
        cost.bandwidth_Bps[i] = tier.bandwidth_Bps[i];
        cost.points = static_cast<int>(i) + 1;
      }
    std::int64_t threshold = tier.tokens;
    if (tier.verdict == TierVerdict::inconclusive)
      threshold = tier.hi_tokens > 0 ? tier.hi_tokens : breakeven::Policy::never;
    REQUIRE(builder.add_tier(tier.name.c_str(), tier.verdict, threshold, cost) == nullptr);
  }
  builder.set_longest_calibrated(*std::max_element(file.lengths.begin(), file.lengths.end()));
  REQUIRE(builder.finish() == nullptr);
  return policy;
}

static nlohmann::ordered_json measurement(double seconds) {
  return {{"median_s", seconds}, {"lo_s", seconds},     {"hi_s", seconds},
          {"count", 10},         {"stopped", "target"}, {"samples_s", {seconds}}};
}
static nlohmann::ordered_json estimate(double value) {
  return {{"value", value}, {"lo", value}, {"hi", value}};
}
static nlohmann::ordered_json row(const Numbers& seconds) {
  nlohmann::ordered_json result = nlohmann::ordered_json::array();
  for (const double s : seconds)
    result.push_back(measurement(s));
  return result;
}

static nlohmann::ordered_json tier_json(const TierData& tier) {
  const bool calibrated = tier.verdict != TierVerdict::uncalibrated;
  nlohmann::ordered_json json{{"name", tier.name},
                              {"spec", tier.name},
                              {"kind", "memory"},
                              {"status", calibrated ? "calibrated" : "uncalibrated"},
                              {"reason", calibrated ? "" : "the device is missing"},
                              {"identity", nlohmann::ordered_json::object()}};
  json["layout"] = {{"name", "blocks"},
                    {"chunk_tokens", tier.chunk_tokens},
                    {"pieces_per_chunk", tier.pieces_per_chunk}};
  if (calibrated) {
    nlohmann::ordered_json points = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < tier.in_flight.size(); ++i)
      points.push_back(
          {{"in_flight", tier.in_flight[i]}, {"bandwidth_Bps", estimate(tier.bandwidth_Bps[i])}});
    json["load"] = {{"fixed_s", estimate(tier.fixed_s)},
                    {"piece_s", estimate(tier.piece_s)},
                    {"bandwidth", points},
                    {"holdout_median_error", 0.01},
                    {"holdout_worst_error", 0.05}};
  }
  json["sweep"] = nlohmann::ordered_json::array();
  json["store_Bps"] = tier.store_Bps;
  json["store_synced_Bps"] = 0.0;
  json["break_even"] = {{"verdict", breakeven::to_string(tier.verdict)},
                        {"reason", ""},
                        {"tokens", tier.tokens},
                        {"lo_tokens", 0},
                        {"hi_tokens", tier.hi_tokens},
                        {"confidence", 0.95}};
  return json;
}

std::string to_json(const File& file) {
  nlohmann::ordered_json json;
  json["schema"] = {{"name", "breakeven"}, {"version", "1.0.0"}};
  json["status"] = "measured";
  json["tool"] = {{"version", "0.1.0"}};
  json["node"] = {{"cpu_model", "A CPU"}, {"fingerprint", "abc123"}};
  nlohmann::ordered_json windows = nlohmann::ordered_json::array();
  for (const Window& window : file.windows)
    windows.push_back(
        {{"window_tokens", window.tokens}, {"bytes_per_token", window.bytes_per_token}});
  json["model"] = {{"name", "llama-3.2-1b"},
                   {"kv_dtype", "bf16"},
                   {"kv_bytes_per_token", file.kv_bytes_per_token},
                   {"kv_windows", windows},
                   {"state_bytes", file.state_bytes},
                   {"checkpoint_tokens", file.checkpoint},
                   {"tensor_parallel", 1},
                   {"chunk_tokens", file.chunk},
                   {"block_tokens", file.block}};
  nlohmann::ordered_json grids = nlohmann::ordered_json::array();
  for (const Grid& grid : file.grids) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Numbers& values : grid.seconds)
      rows.push_back(row(values));
    grids.push_back({{"layer_kind", "full"},
                     {"context_tokens", grid.context},
                     {"new_tokens", grid.fresh},
                     {"seconds", rows}});
  }
  json["prefill"] = {{"device", "cpu"},
                     {"device_name", "A CPU"},
                     {"dense", {{"new_tokens", file.dense_new}, {"seconds", row(file.dense)}}},
                     {"attention", grids}};
  json["tiers"] = nlohmann::ordered_json::array();
  for (const TierData& tier : file.tiers)
    json["tiers"].push_back(tier_json(tier));
  json["calibrated_lengths"] = file.lengths;
  return json.dump();
}

breakeven::Query to_query(const Request& request) {
  breakeven::Query query{breakeven::Tokens(request.prompt)};
  query.resident = breakeven::Tokens(request.resident);
  query.block = breakeven::Tokens(request.block);
  query.queue_wait = breakeven::Seconds(request.queue_wait_s);
  query.compute_price = request.compute_price;
  query.margin = request.margin;
  for (const Part& part : request.parts)
    query.add(breakeven::TierId(part.tier), breakeven::Tokens(part.end), part.in_flight);
  return query;
}

namespace {
std::int64_t pick(std::mt19937_64& random, std::int64_t from, std::int64_t to) {
  return std::uniform_int_distribution<std::int64_t>(from, to)(random);
}
double log_pick(std::mt19937_64& random, double from, double to) {
  return std::exp(std::uniform_real_distribution<double>(std::log(from), std::log(to))(random));
}
std::vector<std::int64_t> axis(std::mt19937_64& random, std::int64_t first, std::int64_t last,
                               std::int64_t points) {
  std::vector<std::int64_t> result{first, last};
  for (std::int64_t i = 0; i < points; ++i)
    result.push_back(static_cast<std::int64_t>(log_pick(random, 2, static_cast<double>(last))));
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

/// Beyond the grid a falling edge counts as flat, which the plain model writes per kind and the
/// library per sum: keep to edges where both are the same.
void rise_at_the_edges(std::vector<Numbers>& seconds) {
  const std::size_t rows = seconds.size(), columns = seconds[0].size();
  for (std::size_t j = 0; rows > 1 && j < columns; ++j)
    seconds[rows - 1][j] = std::max(seconds[rows - 1][j], seconds[rows - 2][j]);
  for (Numbers& row : seconds)
    if (columns > 1) row[columns - 1] = std::max(row[columns - 1], row[columns - 2]);
}
} // namespace

File random_file(std::mt19937_64& random, double noise) {
  File file;
  const auto wobble = [&] {
    return 1 + noise * std::uniform_real_distribution<double>(-1, 1)(random);
  };
  file.chunk =
      pick(random, 0, 3) ? std::int64_t{256} << pick(random, 0, 4) : pick(random, 100, 5000);
  file.block = pick(random, 0, 3) ? std::int64_t{8} << pick(random, 0, 3) : pick(random, 1, 60);
  if (pick(random, 0, 4) == 0) {
    file.checkpoint = file.block * pick(random, 1, 20);
    file.state_bytes = pick(random, 0, 100'000'000);
  }
  file.kv_bytes_per_token = pick(random, 1, 9) == 1 ? 0 : pick(random, 1000, 500'000);
  for (std::int64_t i = pick(random, -2, 2); i > 0; --i)
    file.windows.push_back({pick(random, 64, 4096), pick(random, 0, 100'000)});
  const double slope = log_pick(random, 1e-6, 2e-3), floor_tokens = log_pick(random, 1, 400);
  file.dense_new =
      axis(random, 1, pick(random, 0, 5) ? file.chunk : file.chunk / 2 + 1, pick(random, 0, 9));
  file.dense.clear();
  for (const auto n : file.dense_new)
    file.dense.push_back(slope * std::max(static_cast<double>(n), floor_tokens) * wobble());
  std::vector<Numbers> dense_rows{file.dense};
  rise_at_the_edges(dense_rows);
  file.dense = dense_rows[0];
  for (std::int64_t kind = pick(random, 0, 2); kind > 0; --kind) {
    Grid grid;
    const double pair_s = slope * log_pick(random, 1e-6, 3e-3);
    const double window = pick(random, 0, 2) ? 1e12 : 1024;
    grid.context = axis(random, 0, pick(random, 1000, 40'000), pick(random, 0, 6));
    if (pick(random, 0, 2))
      for (auto& c : grid.context)
        c = c / file.chunk * file.chunk;
    grid.context.erase(std::unique(grid.context.begin(), grid.context.end()), grid.context.end());
    grid.fresh =
        axis(random, pick(random, 1, 3), std::max<std::int64_t>(4, file.chunk), pick(random, 0, 6));
    for (const auto c : grid.context) {
      Numbers values;
      for (const auto n : grid.fresh)
        values.push_back(wobble() * pair_s * static_cast<double>(n) *
                         (std::min(static_cast<double>(c), window) + 0.5 * static_cast<double>(n)));
      grid.seconds.push_back(values);
    }
    rise_at_the_edges(grid.seconds);
    file.grids.push_back(grid);
  }
  file.tiers.clear();
  for (int i = 0; i < 5; ++i) {
    TierData tier;
    tier.name = std::to_string(i);
    tier.fixed_s = pick(random, 0, 5) ? log_pick(random, 1e-6, 1e-1) : 0;
    tier.piece_s = pick(random, 0, 3) ? log_pick(random, 1e-7, 1e-4) : 0;
    tier.chunk_tokens =
        pick(random, 0, 3) ? std::int64_t{16} << pick(random, 0, 6) : pick(random, 1, 700);
    tier.pieces_per_chunk = pick(random, 0, 80);
    // Around the rate at which loading and computing tie, so that both sides win at times.
    const double tie_Bps = static_cast<double>(file.kv_bytes_per_token + 1000) / slope;
    tier.bandwidth_Bps = {tie_Bps * log_pick(random, 0.2, 20)};
    for (std::int64_t k = 2; k < 10 && pick(random, 0, 2); k += 3) {
      tier.in_flight.push_back(k);
      tier.bandwidth_Bps.push_back(tier.bandwidth_Bps.back() * 0.7);
    }
    file.tiers.push_back(tier);
  }
  return file;
}

Request random_request(std::mt19937_64& random, const File& file, int parts) {
  Request request;
  request.prompt = static_cast<std::int64_t>(log_pick(random, 2, 20'000));
  if (pick(random, 0, 2) == 0) request.resident = pick(random, 0, request.prompt);
  if (pick(random, 0, 3) == 0) request.block = pick(random, 1, 300);
  if (pick(random, 0, 2) == 0) request.queue_wait_s = log_pick(random, 1e-5, 10);
  if (pick(random, 0, 3) == 0) request.compute_price = log_pick(random, 0.1, 30);
  if (pick(random, 0, 3) == 0) request.margin = log_pick(random, 0.01, 0.9);
  std::vector<std::int64_t> ends;
  for (int i = 0; i < parts; ++i)
    ends.push_back(pick(random, 1, request.prompt + 100));
  std::sort(ends.begin(), ends.end());
  if (pick(random, 0, 1))
    ends.back() = request.prompt - 1 - pick(random, 0, 1) * pick(random, 0, request.prompt - 1);
  for (const auto end : ends)
    request.parts.push_back(
        {static_cast<int>(pick(random, 0, static_cast<std::int64_t>(file.tiers.size()) - 1)), end,
         pick(random, 0, 2) ? 1.0 : log_pick(random, 1, 50)});
  return request;
}

} // namespace sample
