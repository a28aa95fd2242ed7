#include "tier/file_plan.hpp"

#include "support/checked.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::tier {
namespace {

template <class Value>
Value choose(const TierSpec& spec, const std::string& key, Value otherwise,
             const std::vector<std::pair<std::string, Value>>& choices) {
  const auto given = spec.keys.find(key);
  if (given == spec.keys.end()) return otherwise;
  std::string names;
  for (const auto& [name, value] : choices) {
    if (given->second == name) return value;
    names += " " + name;
  }
  throw error(error_kind::usage, "tier '" + spec.text + "': " + key + " cannot be '" +
                                     printable(given->second) + "'; choose one of:" + names);
}

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

} // namespace

FileSpec parse_file_spec(const TierSpec& spec) {
  FileSpec result;
  result.directories = spec.targets;
  if (result.directories.empty()) result.directories.emplace_back(".");
  result.access = choose<FileAccess>(
      spec, "access", FileAccess::both,
      {{"engine", FileAccess::engine}, {"ideal", FileAccess::ideal}, {"both", FileAccess::both}});
  result.direct = choose<DirectMode>(
      spec, "o_direct", DirectMode::automatic,
      {{"auto", DirectMode::automatic}, {"on", DirectMode::on}, {"off", DirectMode::off}});
  if (const auto given = spec.keys.find("chunk_tokens"); given != spec.keys.end())
    result.chunk_tokens = parse_tokens(given->second, "tier '" + spec.text + "': chunk_tokens");
  return result;
}

FilePlan plan_files(const FileSpec& spec, const TierOptions& options) {
  constexpr std::uint64_t least_ideal = 32u << 20, most_ideal = 512u << 20;
  const std::int64_t tokens =
      spec.chunk_tokens > 0 ? spec.chunk_tokens : options.layout.chunk_tokens;
  const std::int64_t chunk =
      checked_mul(options.layout.bytes_per_token, tokens, "the size of a KV chunk");
  FilePlan plan;
  plan.chunk_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(chunk, 0));
  if (plan.chunk_bytes == 0 || plan.chunk_bytes > most_scratch_bytes / 4)
    throw error(error_kind::usage,
                fmt::format("a file tier cannot store chunks of {} tokens of {} bytes each: a "
                            "chunk must be between 1 byte and {}; set chunk_tokens",
                            tokens, options.layout.bytes_per_token,
                            format_bytes(static_cast<double>(most_scratch_bytes / 4))));
  plan.chunk_file_bytes = round_up(plan.chunk_bytes, file_block_bytes);

  const std::uint64_t unit = stripe_bytes * spec.directories.size();
  if (spec.access == FileAccess::ideal)
    plan.ideal_bytes = std::clamp(options.max_load_bytes, least_ideal, most_scratch_bytes - unit);
  if (spec.access == FileAccess::both)
    plan.ideal_bytes = std::clamp(options.max_load_bytes / 4, least_ideal, most_ideal);
  plan.ideal_bytes = round_up(plan.ideal_bytes, unit);
  if (spec.access == FileAccess::ideal) return plan;

  // Two at least: a load must differ from the one before it.
  const std::uint64_t wanted = std::max<std::uint64_t>(
      2, round_up(options.max_load_bytes, plan.chunk_bytes) / plan.chunk_bytes);
  plan.chunks = std::min(wanted, (most_scratch_bytes - plan.ideal_bytes) / plan.chunk_file_bytes);
  return plan;
}

} // namespace breakeven::tier
