#pragma once

#include "model/architecture.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::calibrate {

/// What the user asked for, checked for form but not yet against the machine.
struct Request {
  std::string model; ///< name, directory or file; "" = the default of the device
  model::ReadOptions model_options;
  std::vector<std::string> tiers; ///< specs; empty = memory and file: on the current directory
  std::string device = "auto";
  std::string output = "breakeven.json"; ///< "" = nothing will be written
  std::int64_t max_prefix_tokens = 32768;
  std::int64_t chunk_tokens = 2048; ///< largest step, vLLM's max_num_batched_tokens
  std::int64_t block_tokens = 16;
  double budget_s = 60;
  int threads = 0;               ///< 0 = what affinity and cgroup quota allow
  std::vector<std::string> argv; ///< recorded in the file
};

} // namespace breakeven::calibrate
