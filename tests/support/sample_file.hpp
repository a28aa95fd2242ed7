#pragma once

#include "profile/profile.hpp"

namespace breakeven::test {

/// A small break-even file with round numbers: recomputing costs 1 ms per token, the tier "disk"
/// has 0.1 s of fixed cost and 1 GB/s, KV is 100 kB per token, so the crossing is near 112 tokens.
inline profile::BreakEvenFile sample_file() {
  using namespace profile;
  const auto measured = [](double s) {
    return Measurement{s, s * 0.99, s * 1.01, 3, "converged", {s * 0.99, s, s * 1.01}};
  };
  BreakEvenFile file;
  file.status = "measured";
  file.tool = {"0.1.0", "test", {"breakeven", "calibrate"}, "2026-01-01T00:00:00Z", 1.5};
  file.node.cpu_model = "Test CPU";
  file.node.fingerprint = "0123456789abcdef";
  file.node.logical_cpus = file.node.usable_cpus = 2;
  file.node.numa_nodes = 1;
  file.node.memory_bytes = std::int64_t{1} << 34;
  file.model.name = "toy";
  file.model.family = "llama";
  file.model.source = "made for tests";
  file.model.layer_kinds = {{"full", 2}};
  file.model.kv_dtype = "bf16";
  file.model.kv_bytes_per_token = 100000;
  file.model.chunk_tokens = 1024;
  file.prefill.device = "cpu";
  file.prefill.device_name = "Test CPU";
  file.prefill.kernel_source = "test";
  file.prefill.compute_dtype = "fp32";
  file.prefill.regime = "sustained";
  file.prefill.threads = 2;
  file.prefill.dense.new_tokens = {1, 256, 1024};
  for (const std::int64_t n : file.prefill.dense.new_tokens)
    file.prefill.dense.seconds.push_back(measured(static_cast<double>(n) * 1e-3));
  AttentionGrid grid;
  grid.layer_kind = "full";
  grid.context_tokens = {0, 4096, 32768};
  grid.new_tokens = {1, 1024};
  for (const std::int64_t c : grid.context_tokens) {
    grid.seconds.emplace_back();
    for (const std::int64_t n : grid.new_tokens)
      grid.seconds.back().push_back(measured(
          1e-9 * static_cast<double>(n) * (static_cast<double>(c) + 0.5 * static_cast<double>(n))));
  }
  file.prefill.attention = {grid};
  Tier tier;
  tier.name = tier.spec = "disk";
  tier.kind = "file";
  tier.status = "calibrated";
  tier.identity = {{"drive", "test drive"}};
  tier.layout = {"chunk files", 256, 1};
  LoadModel load;
  load.fixed_s = {0.1, 0.09, 0.11};
  load.piece_s = {1e-5, 0, 2e-5};
  load.bandwidth = {{1, {1e9, 0.9e9, 1.1e9}}, {2, {0.5e9, 0.45e9, 0.55e9}}};
  tier.load = load;
  for (const std::int64_t tokens : {256, 1024, 4096, 16384}) {
    const std::int64_t bytes = tokens * 100000;
    const double seconds =
        0.1 + 1e-5 * static_cast<double>(tokens / 256) + static_cast<double>(bytes) / 1e9;
    tier.sweep.push_back({bytes, tokens / 256, 1, false, measured(seconds)});
  }
  tier.break_even = {Verdict::at, "", 112, 100, 125, 0.95};
  file.tiers = {tier};
  file.calibrated_lengths = {64, 256, 1024, 4096, 16384};
  file.lengths = {
      {1024, 102400000, {1.03, 1.02, 1.04}, 9.9e7, {{"disk", {0.2, 0.19, 0.21}, "load"}}}};
  file.frontier = {{"disk", 4096, 0.03}};
  file.warnings = {{"test", "numbers are made up"}};
  return file;
}

} // namespace breakeven::test
