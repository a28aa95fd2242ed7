#pragma once

#include "model/architecture.hpp"
#include "predict/hardware.hpp"
#include "predict/roofline.hpp"
#include "predict/tier_rate.hpp"
#include "profile/profile.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Break-even files from published figures instead of measurements.
namespace breakeven::predict {

/// A utilisation and the range that it is stated with.
struct Utilisation {
  double value = 0.5, lo = 0.35, hi = 0.65;
};
/// "0.5" (give or take 30 %, at most 1) or "0.4-0.6" (its middle). Throws error::usage.
Utilisation parse_utilisation(const std::string& text, const std::string& what);
/// "8.03e9", "8.03B": a number of parameters. Throws error::usage.
double parse_parameters(const std::string& text, const std::string& what);

struct Request {
  std::string model;
  model::ReadOptions model_options; ///< tensor_parallel 0 = all devices of the node
  std::string node;                 ///< NAME[:COUNT] or FILE[:COUNT]
  std::vector<std::string> tiers;   ///< parse_tier_rate(); none = host memory over the host link
  Utilisation utilisation;
  Utilisation attention_utilisation{0, 0, 0}; ///< value 0 = the same as `utilisation`
  double memory_efficiency = 0.8;
  double fixed_s = 0;           ///< of tiers that do not say their own
  double linear_parameters = 0; ///< replaces the count of the GEMMs; 0 = keep it
  std::string compute_dtype;
  std::int64_t max_prefix_tokens = 0; ///< 0 = the model's longest position, at most 128k
  std::int64_t chunk_tokens = 2048, block_tokens = 16;
  std::vector<std::string> argv;
};

/// What a request names, looked up and checked.
struct Inputs {
  Request request;
  NodeSpec node;
  model::Architecture model; ///< of one rank
  std::vector<TierRate> tiers;
  std::vector<profile::Warning> warnings;

  [[nodiscard]] Roofline roofline(double utilisation, double attention_utilisation) const;
  [[nodiscard]] Roofline roofline() const;
  /// Bytes per second that reach one device from outside; 0 = unknown.
  [[nodiscard]] double link_Bps() const;
};
/// Throws error::usage and error::bad_input.
Inputs resolve(const Request& request);
/// The same on a node that is at hand; `request.node` is not read.
Inputs resolve_on(const Request& request, const NodeSpec& node);

/// A file of status "predicted": every time is a roofline's, with the range of the utilisation as
/// its interval and stopped "predicted".
profile::BreakEvenFile predict(const Inputs& inputs);

/// The prefill part of predict().
profile::Prefill predicted_prefill(const Inputs& inputs);
/// Where attention is evaluated: windows and powers of four up to the longest prefix.
std::vector<std::int64_t> context_axis(const model::Architecture& model, std::int64_t last);
/// Powers of two and eighths of the chunk.
std::vector<std::int64_t> step_axis(std::int64_t chunk_tokens);
/// A rate that one device can take: at most what its host link delivers. Adds a warning when
/// capped.
double reachable_Bps(const Inputs& inputs, const TierRate& tier,
                     std::vector<profile::Warning>& warnings);

/// Facts of a model in the file's terms. A hybrid model's prefix is loadable where a stored chunk
/// ends.
profile::Model describe_model(const model::Architecture& model, std::int64_t chunk_tokens,
                              std::int64_t block_tokens, std::int64_t stored_chunk_tokens);
/// Version, revision and time; `argv` as given.
profile::Tool describe_tool(const std::vector<std::string>& argv);
/// 128, 256, ... and `last`.
std::vector<std::int64_t> answer_lengths(std::int64_t last);
/// The layout that calibrate uses too: files of 256 tokens in blocks over all layers.
profile::Layout default_layout(std::int64_t block_tokens);
/// A calibrated tier with the given constants; n loads at once get 1/n of the rate each.
profile::Tier make_tier(const TierRate& rate, double rate_Bps, double fixed_s,
                        const profile::Layout& layout);

/// Solves a file whose measurements have no samples but lo_s and hi_s that belong together: all
/// slow or all fast. The intervals of the answers become those of the two extremes.
void solve_range(profile::BreakEvenFile& file);

} // namespace breakeven::predict
