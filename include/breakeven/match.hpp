#pragma once

#include "breakeven/policy_file.hpp"

#include <optional>

/// Does a break-even file belong to this machine and this engine?
namespace breakeven {

/// What the caller knows about where it runs; what is absent is not compared.
struct Deployment {
  std::optional<std::string> fingerprint; ///< of the node, as `breakeven show --json` prints it
  std::optional<std::string> device_name, model, kv_dtype;
  std::optional<std::int64_t> tensor_parallel, chunk_tokens, block_tokens;
  std::vector<std::string> tiers; ///< tiers that the connector will ask about
};

struct Match {
  bool matches = true;
  std::string key;     ///< the first key that differs, as the break-even file spells it
  std::string message; ///< one sentence; empty when it matches
};

namespace detail {
inline Match mismatch(const char* key, const std::string& file, const std::string& here) {
  Match match;
  match.matches = false;
  match.key = key;
  match.message = "the break-even file was measured with ";
  match.message += key;
  match.message +=
      " '" + printable_text(file) + "', but this is '" + printable_text(here) + "': calibrate here";
  return match;
}
} // namespace detail

[[nodiscard]] inline Match match(const PolicyFacts& facts, const Deployment& here) {
  const struct {
    const char* key;
    const std::string& file;
    const std::optional<std::string>& here;
  } texts[] = {{"node.fingerprint", facts.fingerprint, here.fingerprint},
               {"prefill.device_name", facts.device_name, here.device_name},
               {"model.name", facts.model, here.model},
               {"model.kv_dtype", facts.kv_dtype, here.kv_dtype}};
  for (const auto& text : texts)
    if (text.here && *text.here != text.file)
      return detail::mismatch(text.key, text.file, *text.here);
  const struct {
    const char* key;
    std::int64_t file;
    const std::optional<std::int64_t>& here;
  } numbers[] = {{"model.tensor_parallel", facts.tensor_parallel, here.tensor_parallel},
                 {"model.chunk_tokens", facts.chunk_tokens, here.chunk_tokens},
                 {"model.block_tokens", facts.block_tokens, here.block_tokens}};
  for (const auto& number : numbers)
    if (number.here && *number.here != number.file)
      return detail::mismatch(number.key, std::to_string(number.file),
                              std::to_string(*number.here));
  for (const std::string& tier : here.tiers) {
    bool found = false;
    for (const std::string& known : facts.tiers)
      found = found || known == tier;
    if (found) continue;
    Match match;
    match.matches = false;
    match.key = "tiers";
    match.message = "the break-even file has no tier '" + detail::printable_text(tier) +
                    "': calibrate with --tier";
    return match;
  }
  return {};
}

/// Where a threshold came from, in falling precedence.
enum class ThresholdSource { explicit_value, break_even_file, built_in_default };

struct Threshold {
  Tokens tokens; ///< load hits of at least this length; Tokens(Policy::never) = never load
  ThresholdSource source = ThresholdSource::built_in_default;
  std::string message; ///< why the file was passed over; empty when it was used or not given
};

/// The static threshold of a tier for an engine that only takes a number: an explicit value wins
/// over a matching file, which wins over the built-in default. `file` may be null.
[[nodiscard]] inline Threshold resolve_threshold(std::optional<Tokens> explicit_value,
                                                 const PolicyFile* file, const Deployment& here,
                                                 const std::string& tier, Tokens built_in) {
  Threshold result;
  result.tokens = built_in;
  if (explicit_value) {
    result.tokens = *explicit_value;
    result.source = ThresholdSource::explicit_value;
    return result;
  }
  if (file == nullptr || !file->policy) return result;
  Deployment asked = here;
  asked.tiers.push_back(tier);
  const Match matched = match(file->facts, asked);
  result.message = matched.message;
  if (!matched.matches) return result;
  const TierId id = file->policy->find_tier(tier.c_str());
  if (file->policy->verdict(id) == TierVerdict::uncalibrated) {
    result.message = "tier '" + detail::printable_text(tier) + "' was not calibrated";
    return result;
  }
  result.tokens = file->policy->threshold(id);
  result.source = ThresholdSource::break_even_file;
  return result;
}

} // namespace breakeven
