#include "report/report.hpp"

#include "report/file_curves.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

namespace breakeven::report {
namespace {

using profile::Tier;
using profile::Verdict;

/// What a picture can show; a file may hold any finite number.
bool drawable(double value) {
  return std::isfinite(value) && value > 1e-15 && value < 1e18;
}

struct Range {
  double lo = std::numeric_limits<double>::infinity(), hi = 0;
  void add(double value) {
    if (!drawable(value)) return;
    lo = std::min(lo, value);
    hi = std::max(hi, value);
  }
  [[nodiscard]] bool empty() const { return hi < lo; }
};

Axis axis_of(const char* label, Unit unit, bool log = true) {
  Axis axis;
  axis.label = label;
  axis.unit = unit;
  axis.log = log;
  return axis;
}

/// Sets range and ticks from what is drawn; a plot without points gets a range all the same.
void fit_axes(Plot& plot, double least_y = 0) {
  Range x, y;
  for (const Series& series : plot.series)
    for (const Point& point : series.points) {
      x.add(point.x);
      y.add(point.y);
      y.add(point.hi);
      y.add(point.lo);
    }
  if (x.empty()) x.lo = 1, x.hi = 2;
  if (y.empty()) y.lo = 1, y.hi = 2;
  set_range(plot.x, x.lo, x.hi);
  if (plot.y.log) set_range(plot.y, std::max(y.lo, least_y) / 1.25, y.hi * 1.25);
}

class Plotter {
public:
  explicit Plotter(const std::vector<Input>& inputs) : m_inputs(inputs) {
    for (const Input& input : inputs)
      m_curves.emplace_back(input.file);
    // A page of many files stays small, and nobody sees the points between.
    m_per_octave = inputs.size() <= 4 ? 8 : inputs.size() <= 12 ? 4 : 2;
    for (const Input& input : inputs)
      for (const Tier& tier : input.file.tiers)
        if (std::find(m_tiers.begin(), m_tiers.end(), tier.name) == m_tiers.end())
          m_tiers.push_back(tier.name);
  }

  [[nodiscard]] Plot times() const {
    Plot plot = begin("times", "Load or recompute",
                      "Time to have the KV cache of a prefix on the device. Loading wins where its "
                      "line runs below \u201crecompute\u201d; a ring marks the break-even length, "
                      "its bar the interval. Shades are the intervals of the times.");
    plot.x = axis_of("prefix length (tokens)", Unit::tokens);
    plot.y = axis_of("time", Unit::seconds);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t f = 0; f < m_curves.size(); ++f) {
      if (!m_curves[f].reason().empty()) continue;
      const std::vector<std::int64_t> lengths = m_curves[f].lengths(m_per_octave);
      Series recompute = series(f, "recompute", 0);
      for (const std::int64_t tokens : lengths)
        add(recompute, tokens, m_curves[f].saved_s(tokens));
      keep(plot, recompute);
      for_tiers(f, [&](std::size_t t, const Tier& tier) {
        Series load = series(f, "load from " + tier.name, color(tier));
        for (const std::int64_t tokens : lengths)
          add(load, tokens, m_curves[f].load_s(t, tokens));
        for (const Point& point : load.points)
          least = std::min(least, point.y);
        keep(plot, load);
        mark(plot, f, t, [&](std::int64_t at) { return m_curves[f].load_s(t, at).value; });
      });
    }
    add_length_rows(plot);
    // Where a prefix fits beside the suffix in one step, loading saves next to nothing: the axis
    // does not follow that down.
    fit_axes(plot, std::isfinite(least) ? least / 30 : 0);
    return end(plot);
  }

  [[nodiscard]] Plot bandwidth() const {
    Plot plot = begin("bandwidth", "Break-even bandwidth",
                      "What a tier must deliver to tie: without any fixed cost, and with the fixed "
                      "and piece costs of each tier (dotted). Loading wins where the bandwidth of "
                      "the tier (level line) lies above what it needs.");
    plot.x = axis_of("prefix length (tokens)", Unit::tokens);
    plot.y = axis_of("bandwidth", Unit::Bps);
    Range delivered, needed;
    for (std::size_t f = 0; f < m_curves.size(); ++f) {
      const FileCurves& curves = m_curves[f];
      if (!curves.reason().empty()) continue;
      const std::vector<std::int64_t> lengths = curves.lengths(m_per_octave);
      Series ideal = series(f, "needed without fixed cost", 0);
      for (const std::int64_t tokens : lengths) {
        const profile::Estimate saved = curves.saved_s(tokens);
        const double bytes = curves.kv_bytes(tokens);
        add(ideal, tokens, {bytes / saved.value, bytes / saved.hi, bytes / saved.lo});
      }
      for (std::size_t i = ideal.points.size() / 4; i < ideal.points.size(); ++i)
        needed.add(ideal.points[i].y);
      keep(plot, ideal);
      for_tiers(f, [&](std::size_t t, const Tier& tier) {
        const profile::Estimate& rate = tier.load->bandwidth.front().bandwidth_Bps;
        Series has = series(f, tier.name + " delivers", color(tier));
        for (const std::int64_t tokens : curves.file().calibrated_lengths)
          add(has, tokens, rate);
        delivered.add(rate.value);
        keep(plot, has);
        Series needs = series(f, "needed with the costs of " + tier.name, color(tier));
        needs.secondary = true;
        for (const std::int64_t tokens : lengths)
          if (const auto Bps = curves.needed_Bps(t, tokens)) add(needs, tokens, {*Bps, *Bps, *Bps});
        keep(plot, needs);
        mark(plot, f, t, [&](std::int64_t) { return rate.value; });
      });
    }
    add_length_rows(plot);
    fit_axes(plot);
    // What ties where next to nothing is saved is no bandwidth that exists.
    if (!delivered.empty() && !needed.empty())
      set_range(plot.y, std::max(plot.y.lo, std::min(delivered.lo, needed.lo) / 3),
                std::min(plot.y.hi, std::max(delivered.hi, needed.hi) * 8));
    return end(plot);
  }

  [[nodiscard]] Plot frontier() const {
    Plot plot = begin("frontier", "Frontier of partial hits",
                      "The smallest cached share of a prompt from which loading it wins. Above the "
                      "line load, below it recompute. Prompts without a point: loading never "
                      "wins, however much is cached.");
    plot.x = axis_of("prompt length (tokens)", Unit::tokens);
    plot.y = axis_of("cached share of the prompt", Unit::fraction, false);
    std::set<double> rows;
    Range x;
    for (std::size_t f = 0; f < m_curves.size(); ++f)
      for (const Tier& tier : m_inputs[f].file.tiers) {
        Series line = series(f, tier.name, color(tier));
        for (const profile::FrontierPoint& point : m_inputs[f].file.frontier) {
          if (point.tier != tier.name || point.prompt_tokens < 1) continue;
          const double prompt = static_cast<double>(point.prompt_tokens);
          x.add(prompt);
          rows.insert(prompt);
          if (point.fraction >= 0 && point.fraction <= 1)
            line.points.push_back({prompt, point.fraction, point.fraction, point.fraction});
        }
        std::sort(line.points.begin(), line.points.end(),
                  [](const Point& a, const Point& b) { return a.x < b.x; });
        keep(plot, line);
      }
    plot.rows.assign(rows.begin(), rows.end());
    if (plot.series.empty())
      plot.empty = "Loading wins for no prompt of the calibrated lengths, or no frontier is in the "
                   "file.";
    if (x.empty()) x.lo = 1, x.hi = 2;
    set_range(plot.x, x.lo, x.hi);
    set_range(plot.y, 0, 1);
    return end(plot);
  }

  [[nodiscard]] Plot contention() const {
    Plot plot = begin("contention", "Contention",
                      "Bandwidth of one load while several run at once; dotted, what all of them "
                      "get together.");
    plot.x = axis_of("loads in flight", Unit::count);
    plot.y = axis_of("bandwidth", Unit::Bps);
    std::set<double> rows;
    bool several = false;
    for (std::size_t f = 0; f < m_inputs.size(); ++f)
      for (const Tier& tier : m_inputs[f].file.tiers) {
        if (!tier.load) continue;
        Series each = series(f, tier.name + ", each", color(tier));
        Series total = series(f, tier.name + ", together", color(tier));
        total.secondary = true;
        for (const profile::BandwidthPoint& point : tier.load->bandwidth) {
          const double n = static_cast<double>(point.in_flight);
          const profile::Estimate& rate = point.bandwidth_Bps;
          add(each, point.in_flight, rate);
          add(total, point.in_flight, {n * rate.value, n * rate.lo, n * rate.hi});
          rows.insert(n);
        }
        several = several || tier.load->bandwidth.size() > 1;
        keep(plot, each);
        if (total.points.size() > 1) keep(plot, total);
      }
    plot.rows.assign(rows.begin(), rows.end());
    if (!several) {
      plot.series.clear();
      plot.empty = "No tier was measured with more than one load in flight.";
    }
    fit_axes(plot);
    return end(plot);
  }

  [[nodiscard]] Plot pieces() const {
    std::int64_t tokens = 8192;
    for (const FileCurves& curves : m_curves)
      tokens = std::min(tokens, curves.longest());
    Plot plot = begin("pieces", "Effect of the piece size",
                      fmt::format("Load time of {} tokens, by the load model, if the same bytes "
                                  "came in contiguous pieces of another size; a ring marks the "
                                  "pieces that the tier was calibrated with.",
                                  format(static_cast<double>(tokens), Unit::tokens)));
    plot.x = axis_of("piece size", Unit::bytes);
    plot.y = axis_of("load time", Unit::seconds);
    for (std::size_t f = 0; f < m_curves.size(); ++f) {
      const FileCurves& curves = m_curves[f];
      if (!curves.reason().empty()) continue;
      const double bytes = curves.kv_bytes(tokens);
      for_tiers(f, [&](std::size_t t, const Tier& tier) {
        const double count = curves.pieces(t, tokens);
        if (!(count >= 1) || !(bytes >= 1)) return;
        Series line = series(f, tier.name, color(tier));
        for (int e = 24; e <= 2 * 26; ++e) { // 4 KiB to 64 MiB, two points an octave
          const double piece = std::exp2(0.5 * e);
          if (piece > bytes) break;
          const double seconds = curves.pieces_s(t, bytes, piece);
          if (drawable(seconds)) line.points.push_back({piece, seconds, seconds, seconds});
        }
        keep(plot, line);
        const double own = bytes / count;
        if (own >= 4096 && own <= std::exp2(26) && !line.points.empty())
          plot.marks.push_back(
              {line.name, line.color, f, own, curves.pieces_s(t, bytes, own), own, own});
      });
    }
    for (int e = 12; e <= 26; e += 2)
      plot.rows.push_back(std::exp2(e));
    fit_axes(plot);
    return end(plot);
  }

private:
  static Plot begin(const char* id, const char* title, std::string caption) {
    Plot plot;
    plot.id = id;
    plot.title = title;
    plot.caption = std::move(caption);
    return plot;
  }
  Plot end(Plot& plot) const {
    if (plot.series.empty() && plot.empty.empty()) {
      plot.empty = "No tier is calibrated.";
      for (const FileCurves& curves : m_curves)
        if (!curves.reason().empty()) plot.empty = "There is no curve to draw: " + curves.reason();
    }
    if (plot.series.empty()) plot.marks.clear();
    return std::move(plot);
  }

  [[nodiscard]] std::string named(std::size_t f, const std::string& name) const {
    return m_inputs.size() == 1 ? name : name + " \u00b7 " + m_inputs[f].label;
  }
  [[nodiscard]] Series series(std::size_t f, const std::string& name, std::size_t its_color) const {
    Series result;
    result.name = printable(named(f, name));
    result.color = its_color;
    result.file = f;
    return result;
  }
  [[nodiscard]] std::size_t color(const Tier& tier) const {
    return 1 + static_cast<std::size_t>(std::find(m_tiers.begin(), m_tiers.end(), tier.name) -
                                        m_tiers.begin());
  }
  static void add(Series& series, std::int64_t x, const profile::Estimate& y) {
    if (!drawable(y.value)) return;
    const double hi = drawable(y.hi) ? y.hi : y.value;
    series.points.push_back({static_cast<double>(x), y.value, std::max(0.0, y.lo), hi});
  }
  static void keep(Plot& plot, const Series& series) {
    if (!series.points.empty()) plot.series.push_back(series);
  }
  template <class Use>
  void for_tiers(std::size_t f, const Use& use) const {
    const std::vector<Tier>& tiers = m_inputs[f].file.tiers;
    for (std::size_t t = 0; t < tiers.size(); ++t)
      if (tiers[t].load) use(t, tiers[t]);
  }
  template <class Height>
  void mark(Plot& plot, std::size_t f, std::size_t t, const Height& height) const {
    const Tier& tier = m_inputs[f].file.tiers[t];
    const profile::BreakEven& answer = tier.break_even;
    if (answer.verdict != Verdict::at || answer.tokens < m_curves[f].shortest() ||
        answer.tokens > m_curves[f].longest())
      return;
    const double y = height(answer.tokens);
    if (!drawable(y)) return;
    const std::int64_t hi = answer.hi_tokens > 0 ? answer.hi_tokens : m_curves[f].longest();
    plot.marks.push_back({printable(named(f, tier.name)), color(tier), f,
                          static_cast<double>(answer.tokens), y,
                          static_cast<double>(std::min(answer.lo_tokens, answer.tokens)),
                          static_cast<double>(std::max(hi, answer.tokens))});
  }
  void add_length_rows(Plot& plot) const {
    std::set<double> rows;
    for (const Input& input : m_inputs)
      for (const std::int64_t tokens : input.file.calibrated_lengths)
        rows.insert(static_cast<double>(tokens));
    plot.rows.assign(rows.begin(), rows.end());
  }

  const std::vector<Input>& m_inputs;
  std::vector<FileCurves> m_curves;
  std::vector<std::string> m_tiers; ///< names over all files: one colour each
  int m_per_octave;
};

} // namespace

std::vector<std::string> label_files(const std::vector<std::string>& paths) {
  std::vector<std::string> labels;
  std::set<std::string> taken;
  for (const std::string& path : paths) {
    std::string stem = std::filesystem::path(path).filename().string();
    if (stem.size() > 5 && stem.ends_with(".json")) stem.resize(stem.size() - 5);
    std::string label = stem;
    for (int n = 2; !taken.insert(label).second; ++n)
      label = fmt::format("{} ({})", stem, n);
    labels.push_back(label);
  }
  return labels;
}

Plot times_plot(const std::vector<Input>& inputs) {
  return Plotter(inputs).times();
}

std::vector<Plot> plots(const std::vector<Input>& inputs) {
  const Plotter plotter(inputs);
  return {plotter.times(), plotter.bandwidth(), plotter.frontier(), plotter.contention(),
          plotter.pieces()};
}

std::string break_even_text(const profile::BreakEven& answer, std::int64_t longest_tokens) {
  switch (answer.verdict) {
  case Verdict::at:
    if (answer.hi_tokens == 0)
      return fmt::format("{} tokens ({} or more)", format_tokens(answer.tokens),
                         format_tokens(answer.lo_tokens));
    return fmt::format("{} tokens ({} to {})", format_tokens(answer.tokens),
                       format_tokens(answer.lo_tokens), format_tokens(answer.hi_tokens));
  case Verdict::always:
    return fmt::format("always (from {} tokens)", format_tokens(answer.tokens));
  case Verdict::never:
    return fmt::format("never up to {} tokens", format_tokens(longest_tokens));
  case Verdict::inconclusive:
    return "inconclusive: " + printable(answer.reason);
  case Verdict::uncalibrated:
    return "uncalibrated: " + printable(answer.reason);
  }
  return "";
}

} // namespace breakeven::report
