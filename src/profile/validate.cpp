#include "profile/fields.hpp"

#include "support/error.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::profile {
namespace {

class Validator {
public:
  explicit Validator(const std::string& origin) : m_origin(origin) {}

  void require(bool good, const std::string& path, const char* what) const {
    if (!good)
      throw error(error_kind::bad_input,
                  fmt::format("{}: key '{}' {}", m_origin, printable(path), what));
  }
  void ascending(const std::vector<std::int64_t>& values, const std::string& path) const {
    require(!values.empty(), path, "must not be empty");
    require(std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) ==
                values.end(),
            path, "must ascend strictly");
  }
  void interval(const Estimate& e, const std::string& path) const {
    require(e.lo <= e.value && e.value <= e.hi, path, "must satisfy lo <= value <= hi");
  }
  void measurement(const Measurement& m, const std::string& path) const {
    require(m.lo_s <= m.median_s && m.median_s <= m.hi_s, path,
            "must satisfy lo_s <= median_s <= hi_s");
    require(m.samples_s.empty() || m.count == static_cast<std::int64_t>(m.samples_s.size()), path,
            "has a count that is not the number of its samples");
  }

  void prefill(const Prefill& p) const {
    ascending(p.dense.new_tokens, "prefill.dense.new_tokens");
    require(p.dense.seconds.size() == p.dense.new_tokens.size(), "prefill.dense.seconds",
            "must be as long as new_tokens");
    for (std::size_t i = 0; i < p.dense.seconds.size(); ++i)
      measurement(p.dense.seconds[i], fmt::format("prefill.dense.seconds[{}]", i));
    for (std::size_t g = 0; g < p.attention.size(); ++g)
      grid(p.attention[g], fmt::format("prefill.attention[{}]", g));
    for (std::size_t i = 0; i < p.step_checks.size(); ++i)
      measurement(p.step_checks[i].measured, fmt::format("prefill.step_checks[{}].measured", i));
  }
  void grid(const AttentionGrid& g, const std::string& path) const {
    ascending(g.context_tokens, path + ".context_tokens");
    ascending(g.new_tokens, path + ".new_tokens");
    require(g.seconds.size() == g.context_tokens.size(), path + ".seconds",
            "must have one row per context length");
    for (std::size_t c = 0; c < g.seconds.size(); ++c) {
      const std::string row = fmt::format("{}.seconds[{}]", path, c);
      require(g.seconds[c].size() == g.new_tokens.size(), row, "must be as long as new_tokens");
      for (std::size_t n = 0; n < g.seconds[c].size(); ++n)
        measurement(g.seconds[c][n], fmt::format("{}[{}]", row, n));
    }
  }
  /// What version 1.1 added.
  void extras(const Tier& t, const std::string& path) const {
    if (t.access) {
      require(t.access->mode == "engine" || t.access->mode == "ideal", path + ".access.mode",
              "must be 'engine' or 'ideal'");
      for (std::size_t i = 0; i < t.access->ideal.size(); ++i)
        measurement(t.access->ideal[i].seconds,
                    fmt::format("{}.access.ideal[{}].seconds", path, i));
    }
    for (std::size_t i = 0; t.layouts && i < t.layouts->size(); ++i)
      measurement((*t.layouts)[i].seconds, fmt::format("{}.layouts[{}].seconds", path, i));
    if (!t.contention) return;
    measurement(t.contention->load, path + ".contention.load");
    measurement(t.contention->prefill, path + ".contention.prefill");
  }
  void tier(const Tier& t, const std::string& path) const {
    require(!t.name.empty(), path + ".name", "must not be empty");
    require(t.status == "calibrated" || t.status == "uncalibrated", path + ".status",
            "must be 'calibrated' or 'uncalibrated'");
    require((t.status == "calibrated") == t.load.has_value(), path + ".load",
            "must be present exactly when the tier is calibrated");
    require(t.status == "calibrated" || !t.reason.empty(), path + ".reason",
            "must say why the tier is uncalibrated");
    for (std::size_t i = 0; i < t.sweep.size(); ++i)
      measurement(t.sweep[i].seconds, fmt::format("{}.sweep[{}].seconds", path, i));
    extras(t, path);
    const BreakEven& b = t.break_even;
    require(b.confidence < 1, path + ".break_even.confidence", "must be below 1");
    require(b.hi_tokens == 0 || b.lo_tokens <= b.hi_tokens, path + ".break_even",
            "must satisfy lo_tokens <= hi_tokens");
    if (!t.load) return;
    interval(t.load->fixed_s, path + ".load.fixed_s");
    interval(t.load->piece_s, path + ".load.piece_s");
    require(t.load->fixed_s.lo >= 0, path + ".load.fixed_s", "must not be negative");
    require(t.load->piece_s.lo >= 0, path + ".load.piece_s", "must not be negative");
    require(!t.load->bandwidth.empty(), path + ".load.bandwidth", "must not be empty");
    std::int64_t before = 0;
    for (std::size_t i = 0; i < t.load->bandwidth.size(); ++i) {
      const std::string point = fmt::format("{}.load.bandwidth[{}]", path, i);
      const BandwidthPoint& b_point = t.load->bandwidth[i];
      require(b_point.in_flight > before, point + ".in_flight", "must ascend");
      require(i > 0 || b_point.in_flight == 1, point + ".in_flight", "must begin at 1");
      before = b_point.in_flight;
      interval(b_point.bandwidth_Bps, point + ".bandwidth_Bps");
      require(b_point.bandwidth_Bps.lo > 0, point + ".bandwidth_Bps", "must be above 0");
    }
  }

private:
  const std::string& m_origin;
};

} // namespace

void validate(const BreakEvenFile& file, const std::string& origin) {
  const Validator check(origin);
  const std::string& status = file.status;
  check.require(status == "measured" || status == "predicted" || status == "published" ||
                    status == "imported",
                "status", "must be measured, predicted, published or imported");
  check.prefill(file.prefill);
  for (std::size_t i = 0; i < file.tiers.size(); ++i) {
    check.tier(file.tiers[i], fmt::format("tiers[{}]", i));
    for (std::size_t j = 0; j < i; ++j)
      check.require(file.tiers[i].name != file.tiers[j].name, fmt::format("tiers[{}].name", i),
                    "must be unique");
  }
  check.ascending(file.calibrated_lengths, "calibrated_lengths");
  for (std::size_t i = 0; i < file.lengths.size(); ++i) {
    const std::string path = fmt::format("lengths[{}]", i);
    check.interval(file.lengths[i].saved_s, path + ".saved_s");
    for (std::size_t t = 0; t < file.lengths[i].tiers.size(); ++t)
      check.interval(file.lengths[i].tiers[t].load_s, fmt::format("{}.tiers[{}].load_s", path, t));
  }
}

} // namespace breakeven::profile
