#include "fleet/fleet.hpp"

#include "support/error.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

namespace breakeven::fleet {
namespace {

namespace fs = std::filesystem;
using profile::BreakEvenFile;

std::vector<std::string> expand(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code code;
    if (!fs::is_directory(path, code)) {
      files.push_back(path);
      continue;
    }
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator at(path, options, code), end; !code && at != end;
         at.increment(code))
      if (at->path().extension() == ".json" && at->is_regular_file(code))
        files.push_back(at->path().string());
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

/// Raw samples of thousands of files would fill memory, and medians are enough here.
void drop_samples(profile::Measurement& m) {
  std::vector<double>().swap(m.samples_s);
}

void drop_samples(BreakEvenFile& file) {
  for (profile::Measurement& m : file.prefill.dense.seconds)
    drop_samples(m);
  for (profile::AttentionGrid& grid : file.prefill.attention)
    for (auto& row : grid.seconds)
      for (profile::Measurement& m : row)
        drop_samples(m);
  for (profile::StepCheck& check : file.prefill.step_checks)
    drop_samples(check.measured);
  for (profile::Tier& tier : file.tiers)
    tier.sweep.clear();
}

struct Slot {
  std::optional<BreakEvenFile> file;
  std::string reason;
};

void read_into(Slot& slot, const std::string& path) {
  try {
    slot.file = profile::read_file(path);
    drop_samples(*slot.file);
  } catch (const std::exception& failure) {
    slot.reason = failure.what();
  }
}

std::vector<Slot> read_all(const std::vector<std::string>& files) {
  std::vector<Slot> slots(files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++)
      read_into(slots[i], files[i]);
  };
  const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1,
                                                      std::max<std::size_t>(1, files.size()));
  {
    std::vector<std::jthread> team;
    for (std::size_t i = 1; i < threads; ++i)
      team.emplace_back(work);
    work();
  } // joins
  return slots;
}

/// What must agree for times to mean the same.
std::string work_of(const BreakEvenFile& file) {
  const profile::Model& model = file.model;
  return fmt::format("{} with {} KV, {} compute, steps of {}, {} ranks", model.name, model.kv_dtype,
                     file.prefill.compute_dtype, model.chunk_tokens, model.tensor_parallel);
}

} // namespace

Fleet read(const std::vector<std::string>& paths) {
  const std::vector<std::string> files = expand(paths);
  if (files.empty())
    throw error(error_kind::usage, "no break-even file given: name files, or a directory that "
                                   "holds some with names that end in .json");
  Fleet fleet;
  std::vector<Slot> slots = read_all(files);
  for (std::size_t i = 0; i < files.size(); ++i)
    if (slots[i].file)
      fleet.nodes.push_back({files[i], std::move(*slots[i].file)});
    else
      fleet.broken.push_back({files[i], slots[i].reason});
  if (fleet.nodes.empty())
    throw error(error_kind::bad_input, fmt::format("none of {} files could be read; the first: {}",
                                                   files.size(), fleet.broken.front().reason));
  keep_majority(fleet);
  return fleet;
}

void keep_majority(Fleet& fleet) {
  std::map<std::string, std::size_t> counts;
  for (const Node& node : fleet.nodes)
    ++counts[work_of(node.file)];
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == counts.end() || counts.size() == 1) return;
  std::vector<Node> kept;
  for (Node& node : fleet.nodes)
    if (const std::string work = work_of(node.file); work == most->first)
      kept.push_back(std::move(node));
    else
      fleet.others.push_back(
          {node.name, fmt::format("measured {}; most measured {}", work, most->first)});
  fleet.nodes = std::move(kept);
}

} // namespace breakeven::fleet
