#include "fleet/fleet.hpp"

#include "fit/fit.hpp"
#include "measure/statistics.hpp"
#include "support/error.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>

namespace breakeven::fleet {
namespace {

using namespace profile;

/// The value that most nodes have; the smallest of equals.
template <class T, class Get>
T most_common(const std::vector<const BreakEvenFile*>& files, Get get) {
  std::map<T, std::size_t> counts;
  for (const BreakEvenFile* file : files)
    ++counts[get(*file)];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

/// The grids that a file's prefill was measured on.
using Grids = std::vector<std::vector<std::int64_t>>;
Grids grids_of(const BreakEvenFile& file) {
  Grids grids = {file.prefill.dense.new_tokens};
  for (const AttentionGrid& grid : file.prefill.attention) {
    grids.push_back(grid.context_tokens);
    grids.push_back(grid.new_tokens);
  }
  return grids;
}

std::string common(const std::vector<const BreakEvenFile*>& files,
                   const std::function<std::string(const BreakEvenFile&)>& get,
                   const std::string& otherwise) {
  const std::string first = get(*files.front());
  const bool all = std::all_of(files.begin(), files.end(),
                               [&](const BreakEvenFile* file) { return get(*file) == first; });
  return all ? first : otherwise;
}

class Merger {
public:
  Merger(const Fleet& fleet, double quantile) : m_quantile(quantile) {
    if (fleet.nodes.empty()) throw error(error_kind::bad_input, "there is no node to merge");
    std::vector<const BreakEvenFile*> files;
    for (const Node& node : fleet.nodes)
      files.push_back(&node.file);
    m_grids = most_common<Grids>(files, grids_of);
    for (const BreakEvenFile* file : files)
      if (grids_of(*file) == m_grids) m_files.push_back(file);
    m_left_out = files.size() - m_files.size();
  }

  BreakEvenFile run(const std::vector<std::string>& argv) {
    const BreakEvenFile& first = *m_files.front();
    m_merged.model = first.model;
    m_merged.calibrated_lengths = most_common<std::vector<std::int64_t>>(
        m_files, [](const BreakEvenFile& file) { return file.calibrated_lengths; });
    describe(argv);
    prefill(first);
    tiers();
    fit::BreakEvenOptions options;
    options.replicates = 0; // the quantiles are the answer; the nodes give the interval
    fit::solve(m_merged, options);
    spread();
    return std::move(m_merged);
  }

private:
  void describe(const std::vector<std::string>& argv) {
    const auto measured = [](const BreakEvenFile* file) { return file->status == "measured"; };
    // "imported" is the schema's word for times that were measured, but not here and not so.
    m_merged.status =
        std::all_of(m_files.begin(), m_files.end(), measured) ? "imported" : "predicted";
    m_merged.tool = {BREAKEVEN_VERSION, BREAKEVEN_REVISION, argv,
                     fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))), 0};
    profile::Node& node = m_merged.node;
    node.cpu_model = common(
        m_files, [](const auto& f) { return f.node.cpu_model; }, "");
    node.os = common(
        m_files, [](const auto& f) { return f.node.os; }, "");
    node.kernel = common(
        m_files, [](const auto& f) { return f.node.kernel; }, "");
    node.hypervisor = common(
        m_files, [](const auto& f) { return f.node.hypervisor; }, "");
    node.governor = common(
        m_files, [](const auto& f) { return f.node.governor; }, "");
    node.fingerprint = common(
        m_files, [](const auto& f) { return f.node.fingerprint; }, "");
    warn("fleet", fmt::format("merged from {} nodes, measured on none of them as it stands: loads "
                              "are as slow as on the slowest and recompute as fast as on the "
                              "fastest of {:.4g} % of the nodes",
                              m_files.size(), 100 * m_quantile));
    if (m_left_out > 0)
      warn("fleet", fmt::format("{} nodes measured other prefix or step lengths than most and are "
                                "left out",
                                m_left_out));
  }

  void warn(const char* code, std::string message) {
    m_merged.warnings.push_back({code, std::move(message)});
  }

  [[nodiscard]] double low(const std::vector<double>& values) const {
    return measure::quantile(values, 1 - m_quantile);
  }
  [[nodiscard]] double high(const std::vector<double>& values) const {
    return measure::quantile(values, m_quantile);
  }

  /// The low quantile over nodes, with their whole range as its interval.
  Measurement fast(const std::function<const Measurement&(const BreakEvenFile&)>& get) const {
    std::vector<double> medians;
    for (const BreakEvenFile* file : m_files)
      medians.push_back(get(*file).median_s);
    const auto [smallest, largest] = std::minmax_element(medians.begin(), medians.end());
    return {low(medians), *smallest, *largest, static_cast<std::int64_t>(medians.size()),
            "fleet",      {}};
  }

  void prefill(const BreakEvenFile& first) {
    Prefill& prefill = m_merged.prefill;
    const auto shared = [&](std::string Prefill::*member) {
      prefill.*member = common(
          m_files, [&](const BreakEvenFile& f) { return f.prefill.*member; }, "several");
    };
    for (auto member : {&Prefill::device, &Prefill::device_name, &Prefill::kernel_source,
                        &Prefill::compute_dtype, &Prefill::regime})
      shared(member);
    prefill.threads = first.prefill.threads;
    prefill.dense.new_tokens = first.prefill.dense.new_tokens;
    for (std::size_t i = 0; i < prefill.dense.new_tokens.size(); ++i)
      prefill.dense.seconds.push_back(fast([&](const BreakEvenFile& f) -> const Measurement& {
        return f.prefill.dense.seconds[i];
      }));
    for (std::size_t g = 0; g < first.prefill.attention.size(); ++g) {
      AttentionGrid grid = first.prefill.attention[g];
      for (std::size_t c = 0; c < grid.context_tokens.size(); ++c)
        for (std::size_t n = 0; n < grid.new_tokens.size(); ++n)
          grid.seconds[c][n] = fast([&](const BreakEvenFile& f) -> const Measurement& {
            return f.prefill.attention[g].seconds[c][n];
          });
      prefill.attention.push_back(std::move(grid));
    }
  }

  void tiers() {
    std::vector<std::string> names;
    for (const BreakEvenFile* file : m_files)
      for (const Tier& tier : file->tiers)
        if (std::find(names.begin(), names.end(), tier.name) == names.end())
          names.push_back(tier.name);
    for (const std::string& name : names)
      tier(name);
  }

  void tier(const std::string& name) {
    std::vector<const Tier*> all, usable;
    for (const BreakEvenFile* file : m_files)
      for (const Tier& tier : file->tiers)
        if (tier.name == name) all.push_back(&tier);
    for (const Tier* tier : all)
      if (tier->load && tier->kind == all.front()->kind &&
          tier->layout.chunk_tokens == all.front()->layout.chunk_tokens &&
          tier->layout.pieces_per_chunk == all.front()->layout.pieces_per_chunk)
        usable.push_back(tier);
    Tier merged = *all.front();
    merged.sweep.clear();
    merged.load.reset();
    merged.store_Bps = merged.store_synced_Bps = 0;
    for (auto at = merged.identity.begin(); at != merged.identity.end();)
      at = std::all_of(all.begin(), all.end(),
                       [&](const Tier* tier) {
                         const auto found = tier->identity.find(at->first);
                         return found != tier->identity.end() && found->second == at->second;
                       })
               ? std::next(at)
               : merged.identity.erase(at);
    if (2 * usable.size() <= m_files.size()) {
      merged.status = "uncalibrated";
      merged.reason = fmt::format("only {} of {} nodes could calibrate this tier alike",
                                  usable.size(), m_files.size());
    } else {
      merged.status = "calibrated";
      merged.reason.clear();
      merged.load = slow(usable);
      if (usable.size() < m_files.size())
        warn("fleet", fmt::format("{}: {} of {} nodes have no load model for it", name,
                                  m_files.size() - usable.size(), m_files.size()));
    }
    m_merged.tiers.push_back(std::move(merged));
    m_usable.push_back(std::move(usable));
  }

  static std::vector<double> each(const std::vector<const Tier*>& tiers,
                                  const std::function<double(const LoadModel&)>& get) {
    std::vector<double> values;
    for (const Tier* tier : tiers)
      values.push_back(get(*tier->load));
    return values;
  }
  static Estimate fixed(double value) { return {value, value, value}; }

  LoadModel slow(const std::vector<const Tier*>& tiers) const {
    LoadModel load;
    load.fixed_s = fixed(high(each(tiers, [](const LoadModel& l) { return l.fixed_s.value; })));
    load.piece_s = fixed(high(each(tiers, [](const LoadModel& l) { return l.piece_s.value; })));
    for (const BandwidthPoint& point : tiers.front()->load->bandwidth) {
      std::vector<double> rates;
      for (const Tier* tier : tiers)
        for (const BandwidthPoint& other : tier->load->bandwidth)
          if (other.in_flight == point.in_flight) rates.push_back(other.bandwidth_Bps.value);
      if (rates.size() == tiers.size())
        load.bandwidth.push_back({point.in_flight, fixed(low(rates))});
    }
    const auto worst = [&](double LoadModel::*member) {
      double value = 0;
      for (const Tier* tier : tiers)
        value = std::max(value, (*tier->load).*member);
      return value;
    };
    load.holdout_median_error = worst(&LoadModel::holdout_median_error);
    load.holdout_worst_error = worst(&LoadModel::holdout_worst_error);
    add_knee(load, tiers);
    return load;
  }

  /// A knee that makes small pieces dearer is kept, at its worst; one that makes them cheaper is
  /// dropped, which is dearer for all.
  static void add_knee(LoadModel& load, const std::vector<const Tier*>& tiers) {
    PieceKnee worst;
    double below = 1 / load.bandwidth.front().bandwidth_Bps.value;
    const double plain = below;
    for (const Tier* tier : tiers) {
      if (!tier->load->knee) continue;
      worst.piece_bytes = std::max(worst.piece_bytes, tier->load->knee->piece_bytes);
      below = std::max(below, tier->load->knee->below_s_per_byte.value);
    }
    if (worst.piece_bytes < 1 || below <= plain) return;
    worst.below_s_per_byte = fixed(below);
    load.knee = worst;
  }

  /// The break-even lengths that the nodes themselves found are the interval of the merged one.
  void spread() {
    for (std::size_t i = 0; i < m_merged.tiers.size(); ++i) {
      BreakEven& answer = m_merged.tiers[i].break_even;
      if (answer.verdict != profile::Verdict::at) continue;
      answer.lo_tokens = answer.hi_tokens = answer.tokens;
      for (const Tier* tier : m_usable[i]) {
        const BreakEven& one = tier->break_even;
        if (one.verdict == profile::Verdict::always)
          answer.lo_tokens = std::min(answer.lo_tokens, m_merged.calibrated_lengths.front());
        if (one.verdict == profile::Verdict::at) {
          answer.lo_tokens = std::min(answer.lo_tokens, one.tokens);
          if (answer.hi_tokens > 0) answer.hi_tokens = std::max(answer.hi_tokens, one.tokens);
        }
        if (one.verdict == profile::Verdict::never) answer.hi_tokens = 0;
      }
    }
  }

  double m_quantile;
  Grids m_grids;
  std::vector<const BreakEvenFile*> m_files; ///< that share most nodes' grids
  std::size_t m_left_out = 0;
  std::vector<std::vector<const Tier*>> m_usable; ///< by tier of m_merged
  BreakEvenFile m_merged;
};

} // namespace

BreakEvenFile merge(const Fleet& fleet, double quantile, const std::vector<std::string>& argv) {
  return Merger(fleet, quantile).run(argv);
}

} // namespace breakeven::fleet
