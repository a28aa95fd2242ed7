#pragma once

#include "predict/predict.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Capacity planning: what fits where, how fast, and what pays.
namespace breakeven::predict {

/// Drives of one kind. 0 = not published.
struct Drives {
  std::string title;
  double count = 0, capacity_bytes = 0, read_Bps = 0, write_Bps = 0, endurance_bytes = 0; ///< each
};
/// "4xmicron-9550-pro", "4x30.72TB" (capacity alone) or both of a file's facts. Throws
/// error::usage.
Drives parse_drives(const std::string& text);

struct Load {
  std::int64_t context_tokens = 8192; ///< of a prompt
  double hit_rate = 0.9;              ///< share of the prompt that is cached
  std::int64_t users = 0;             ///< whose prefixes shall stay warm; 0 = from the other two
  double reuse_interval_s = 0;        ///< between two prompts of a user; 0 = unknown
  double requests_per_day = 0;        ///< 0 = from the other two, or unknown
};

struct Store {
  double host_memory_bytes = 0; ///< for KV caches; 0 = none
  std::vector<Drives> drives;
  double device_memory_bytes = 0;   ///< of one device; 0 = as published
  double device_memory_share = 0.9; ///< that the engine may use
  double device_reserve_bytes = 0;  ///< of one device: activations, graphs, ...
  double weight_bytes = 0;          ///< of one copy of the model; 0 = parameters by type
};

struct TierCapacity {
  std::string name;
  double bytes = 0;
  double tokens = 0, prefixes = 0; ///< of the load's context; whole prefixes
  double share_of_users = 0;       ///< of the working set, at most 1
  double bandwidth_Bps = 0;        ///< into the node's devices, all together; 0 = unknown
  double load_s = 0;               ///< of one hit, alone; 0 = unknown
  double endurance_years = 0;      ///< at the load's writes; 0 = unknown or no writes
  double demand_Bps = 0;           ///< that the load's hits ask of it
  bool pays = false;
  std::string verdict; ///< one sentence
};

struct PrefillRate {
  double hit_rate = 0;
  double requests_per_s = 0, prompt_tokens_per_s = 0;
  double hit_Bps = 0; ///< bytes per second of cached prefixes at that rate
};

struct CapacityPlan {
  std::int64_t devices = 1, instances = 1;
  double kv_bytes_per_token = 0; ///< of the first tokens, whole model
  double context_bytes = 0;      ///< KV cache of the load's context
  double hit_bytes = 0;          ///< of its cached part
  std::int64_t hit_tokens = 0;
  double working_set_bytes = 0; ///< users x context_bytes; also the host memory that keeps it warm
  double users = 0;
  double requests_per_s = 0, requests_per_day = 0; ///< 0 = unknown
  std::vector<PrefillRate> rates;
  double load_share = 0;     ///< of the node's prefill rate at the hit rate that the load takes
  double saved_s = 0;        ///< prefill time that one hit saves
  double break_even_Bps = 0; ///< into one instance's devices, without fixed cost
  double written_bytes_per_day = 0;      ///< new tokens of the load
  double most_written_bytes_per_day = 0; ///< if prefill ran at its uncached rate all day
  std::vector<TierCapacity> tiers;
  std::vector<std::string> notes;
};

/// Throws error::usage when the weights do not fit, or the load says too little.
CapacityPlan plan_capacity(const Inputs& inputs, const Load& load, const Store& store);

double written_bytes_per_day(double tokens_per_s, double bytes_per_token);

/// A chat whose every turn is a prompt of all that went before.
struct Chat {
  std::int64_t system_tokens = 0, user_tokens = 0, reply_tokens = 0, turns = 1;
};
/// "system=4000,user=100,reply=300,turns=20". Throws error::usage.
Chat parse_chat(const std::string& text);
struct ChatCost {
  std::int64_t prefilled_uncached = 0; ///< tokens over all turns
  std::int64_t prefilled_cached = 0;   ///< with the prefix cached; replies count as new input
  std::int64_t last_prompt = 0, last_new = 0; ///< tokens of the last turn
  double last_uncached_s = 0, last_cached_s = 0;
};
ChatCost chat_cost(const Chat& chat, const Roofline& roofline, std::int64_t chunk_tokens);

} // namespace breakeven::predict
