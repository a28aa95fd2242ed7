#pragma once

#include "predict/import.hpp"
#include "predict/predict.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace breakeven::cli {

/// The options that predict, plan and import share: which model, on which node, how well used.
struct PredictionOptions {
  predict::Request request;
  predict::Published published;
  std::string tensor_parallel, kv_bytes_per_token, mla,
      utilisation = "0.5", attention_utilisation, memory_efficiency = "0.8", fixed = "0",
      linear_parameters, max_prefix, chunk_tokens = "2048", block_tokens = "16";

  void add_model(CLI::App& command);
  void add_node(CLI::App& command, bool required);
  void add_tiers(CLI::App& command);
  void add_lengths(CLI::App& command);
  void add_published(CLI::App& command);
  /// Parses the texts into `request`. Throws error::usage.
  const predict::Request& finish(const std::vector<std::string>& argv);
  /// Marks the file as published when a source was given.
  void mark(profile::BreakEvenFile& file) const;
};

} // namespace breakeven::cli
