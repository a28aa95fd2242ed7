#include "support/catch.hpp"

#include "predict/capacity.hpp"
#include "predict/predict.hpp"
#include "support/text.hpp"

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <string>

using namespace breakeven;
using namespace breakeven::predict;

/// Every row of tests/data/published.tsv, computed by the model, predict and plan rooms.
namespace {

struct Row {
  std::string id, quantity, inputs, value, unit, source;
  double tolerance = 0;
};

std::vector<Row> rows() {
  std::ifstream file(BREAKEVEN_TEST_DATA "/published.tsv");
  std::vector<Row> result;
  std::string line;
  std::getline(file, line); // header
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line, '\t');
    REQUIRE(cells.size() == 7);
    result.push_back(
        {cells[0], cells[1], cells[2], cells[3], cells[4], cells[6], std::stod(cells[5])});
  }
  return result;
}

Request request(const std::string& model, const std::string& node, const std::string& utilisation) {
  Request r;
  r.model = model;
  r.node = node;
  r.utilisation = parse_utilisation(utilisation, "--utilisation");
  r.model_options.tensor_parallel = 0;
  return r;
}

Request qwen72() {
  return request("qwen2.5-72b", "h100-sxm:8", "0.5");
}

Request with_parameters(Request r, double parameters) {
  r.linear_parameters = parameters;
  return r;
}

const profile::LengthAnswer& at_length(const profile::BreakEvenFile& file, std::int64_t tokens) {
  for (const profile::LengthAnswer& each : file.lengths)
    if (each.prefix_tokens == tokens) return each;
  throw std::runtime_error("the length is not in the file");
}

profile::LengthAnswer predicted(Request r, std::int64_t tokens) {
  r.max_prefix_tokens = tokens;
  return at_length(predict::predict(resolve(r)), tokens);
}

double kv_per_token(const std::string& model, const std::string& kv_dtype) {
  model::ReadOptions options;
  options.kv_dtype = kv_dtype;
  return static_cast<double>(model::read_architecture(model, options).kv_bytes(1));
}

/// Into the node: the file is that of one rank.
double node_break_even(const Request& r, std::int64_t tokens) {
  const Inputs inputs = resolve(r);
  return predicted(r, tokens).break_even_Bps * static_cast<double>(inputs.model.tensor_parallel);
}

CapacityPlan qwen72_plan(double hit_rate) {
  Load load;
  load.context_tokens = 16384;
  load.hit_rate = hit_rate;
  load.users = 500;
  Store store;
  store.host_memory_bytes = 2e12;
  store.drives = {parse_drives("4x30.72TB")};
  return plan_capacity(resolve(qwen72()), load, store);
}

double rate_at(double hit_rate) {
  for (const PrefillRate& rate : qwen72_plan(hit_rate).rates)
    if (rate.hit_rate == hit_rate) return rate.requests_per_s;
  return 0;
}

CapacityPlan qwen32_plan() {
  Request r = request("qwen3-32b", "rtx-pro-6000", "0.5");
  r.model_options.kv_dtype = "fp8";
  Load load;
  load.users = 500;
  load.hit_rate = 0;
  load.requests_per_day = 2000;
  Store store;
  store.device_memory_bytes = parse_size("95.6GiB", "x");
  store.device_reserve_bytes = parse_size("3GiB", "x");
  store.weight_bytes = parse_size("32.0GiB", "x");
  return plan_capacity(resolve(r), load, store);
}

double load_of(const std::string& node, const std::string& tier) {
  Request r = request("qwen2.5-72b", node, "0.5");
  r.tiers = {tier};
  r.model_options.tensor_parallel = 1;
  return predicted(r, 32768).tiers.front().load_s.value;
}

/// At peak, with the published FLOP per token.
Roofline llama8b_at_peak() {
  return resolve(with_parameters(request("llama-3.1-8b", "h100-sxm", "1"), 8.03e9)).roofline();
}

double linear_break_even(const std::string& model, double parameters) {
  const Roofline r =
      resolve(with_parameters(request(model, "h100-sxm", "1"), parameters)).roofline();
  // A full chunk: a single token would be bound by streaming the weights.
  return kv_per_token(model, "") * 2048 / r.dense_s(2048);
}

double attention_share(std::int64_t tokens) {
  const Roofline r = llama8b_at_peak();
  return r.attention_flops(0, tokens) / r.linear_flops(static_cast<double>(tokens));
}

ChatCost chat() {
  return chat_cost(parse_chat("system=4000,user=100,reply=300,turns=20"), llama8b_at_peak(), 2048);
}

double load_per_token(const std::string& rate) {
  Request r = request("llama-3.1-8b", "gh200", "1");
  r.tiers = {"x=" + rate};
  return predicted(r, 16384).tiers.front().load_s.value / 16384;
}

const std::map<std::string, std::function<double()>>& computed() {
  static const std::map<std::string, std::function<double()>> table = {
      {"kv-qwen72-bf16", [] { return kv_per_token("qwen2.5-72b", ""); }},
      {"kv-qwen72-fp8", [] { return kv_per_token("qwen2.5-72b", "fp8"); }},
      {"kv-qwen72-32k",
       [] {
         return static_cast<double>(model::read_architecture("qwen2.5-72b").kv_bytes(32768)) / 1e9;
       }},
      {"flop-qwen72-32k",
       [] {
         const Roofline r = resolve(qwen72()).roofline();
         return 8 * (r.linear_flops(32768) + r.attention_flops(0, 32768));
       }},
      // The published time counts 70.0e9 parameters; the model's GEMMs have 70.2e9.
      {"t-qwen72-32k",
       [] { return predicted(with_parameters(qwen72(), 70.0e9), 32768).saved_s.value; }},
      {"bw-qwen72-16k", [] { return node_break_even(qwen72(), 16384) / 1e9; }},
      {"rate-qwen72-0", [] { return rate_at(0); }},
      {"rate-qwen72-90", [] { return rate_at(0.9); }},
      {"prefixes-hbm", [] { return qwen72_plan(0.9).tiers.at(0).prefixes; }},
      {"prefixes-dram", [] { return qwen72_plan(0.9).tiers.at(1).prefixes; }},
      {"prefixes-nvme", [] { return qwen72_plan(0.9).tiers.at(2).prefixes; }},
      {"write-day",
       [] { return written_bytes_per_day(24600, kv_per_token("qwen2.5-72b", "")) / 1e12; }},
      {"gh200-pcie", [] { return 1e3 * load_of("gh200", "memory=50GB/s"); }},
      {"gh200-c2c", [] { return 1e3 * load_of("gh200", "memory=450GB/s"); }},
      {"pred-3b-8k",
       [] {
         return node_break_even(with_parameters(request("llama-3.2-3b", "h100-sxm", "0.5"), 3.21e9),
                                8192) /
                1e9;
       }},
      {"pred-3b-80k",
       [] {
         return node_break_even(with_parameters(request("llama-3.2-3b", "h100-sxm", "0.5"), 3.21e9),
                                81920) /
                1e9;
       }},
      {"pred-70b-32k",
       [] {
         return node_break_even(
                    with_parameters(request("llama-3.3-70b", "h100-sxm", "0.5"), 70.55e9), 32768) /
                1e9;
       }},
      {"t-8b-token", [] { return 1e6 * llama8b_at_peak().dense_s(2048) / 2048; }},
      {"bw-8b", [] { return linear_break_even("llama-3.1-8b", 8.03e9) / 1e9; }},
      {"bw-70b", [] { return linear_break_even("llama-3.1-70b", 70.55e9) / 1e9; }},
      {"load-8b-pcie", [] { return 1e6 * load_per_token("64GB/s"); }},
      {"load-8b-ssd", [] { return 1e6 * load_per_token("14GB/s"); }},
      {"attn-8b-8k", [] { return attention_share(8192); }},
      {"attn-8b-32k", [] { return attention_share(32768); }},
      {"chat-nocache", [] { return static_cast<double>(chat().prefilled_uncached); }},
      {"chat-cached", [] { return static_cast<double>(chat().prefilled_cached); }},
      {"chat-turn20", [] { return 1e3 * chat().last_uncached_s; }},
      {"kv-32b-fp8", [] { return kv_per_token("qwen3-32b", "fp8"); }},
      {"kv-32b-8k", [] { return qwen32_plan().context_bytes / 0x1p30; }},
      {"conv-card", [] { return qwen32_plan().tiers.at(0).prefixes; }},
      {"conv-500", [] { return qwen32_plan().working_set_bytes / 1e9; }},
      {"write-2000", [] { return qwen32_plan().written_bytes_per_day / 1e12; }},
  };
  return table;
}

bool is_measured(const Row& row) {
  return row.id.rfind("meas-", 0) == 0;
}

} // namespace

TEST_CASE("every published figure comes out within its tolerance") {
  int checked = 0;
  for (const Row& row : rows()) {
    if (is_measured(row)) continue;
    INFO(row.id << ": " << row.quantity << " (" << row.source << ")");
    const auto found = computed().find(row.id);
    REQUIRE(found != computed().end());
    const double published = std::stod(row.value), ours = found->second();
    INFO("published " << row.value << " " << row.unit << ", ours " << ours);
    CHECK(std::abs(ours - published) <= row.tolerance * published);
    ++checked;
  }
  CHECK(checked == 32);
}

TEST_CASE("the cached turn of the published chat takes 9 ms") {
  CHECK(1e3 * chat().last_cached_s == Approx(9).epsilon(0.02));
  CHECK(chat().last_prompt == 11700);
  CHECK(chat().last_new == 400);
}

TEST_CASE("each published row names its source") {
  for (const Row& row : rows()) {
    CHECK_FALSE(row.source.empty());
    CHECK_FALSE(row.value.empty());
  }
}
