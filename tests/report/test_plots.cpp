#include "support/catch.hpp"

#include "fit/fit.hpp"
#include "report/report.hpp"
#include "support/sample_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace breakeven;
using namespace breakeven::report;

namespace {

profile::BreakEvenFile solved() {
  profile::BreakEvenFile file = test::sample_file();
  fit::solve(file, {});
  return file;
}

const Plot& named(const std::vector<Plot>& plots, const std::string& id) {
  return *std::find_if(plots.begin(), plots.end(), [&](const Plot& p) { return p.id == id; });
}

double y_at(const Series& series, double x) {
  for (const Point& point : series.points)
    if (point.x == x) return point.y;
  return std::nan("");
}

} // namespace

TEST_CASE("times: the lines are those of the fitted curves, and cross at the mark") {
  const profile::BreakEvenFile file = solved();
  const Plot plot = times_plot({{"a", file}});
  REQUIRE(plot.series.size() == 2);
  CHECK(plot.series[0].name == "recompute");
  CHECK(plot.series[1].name == "load from disk");
  const fit::PrefillCurve curve(file.prefill, file.model.chunk_tokens);
  for (const profile::LengthAnswer& answer : file.lengths) {
    const double p = static_cast<double>(answer.prefix_tokens);
    CHECK(y_at(plot.series[0], p) ==
          Approx(curve.saved_s(0, answer.prefix_tokens, answer.prefix_tokens + 1)));
    CHECK(y_at(plot.series[0], p) == Approx(answer.saved_s.value));
    CHECK(y_at(plot.series[1], p) == Approx(answer.tiers[0].load_s.value));
  }
  REQUIRE(plot.marks.size() == 1);
  const Mark& mark = plot.marks[0];
  const profile::BreakEven& answer = file.tiers[0].break_even;
  CHECK(mark.x == static_cast<double>(answer.tokens));
  CHECK(mark.lo == static_cast<double>(answer.lo_tokens));
  CHECK(mark.hi == static_cast<double>(answer.hi_tokens));
  CHECK(mark.y == Approx(y_at(plot.series[1], mark.x)));
  // Loading wins from there on, and not one step before.
  CHECK(y_at(plot.series[0], mark.x) > mark.y);
  const std::int64_t before = answer.tokens - 1;
  CHECK(curve.saved_s(0, before, before + 1) <= mark.y);
  CHECK(plot.x.lo == 64);
  CHECK(plot.x.hi == 16384);
}

TEST_CASE("times: intervals are those of the file, and the value lies within between them") {
  const profile::BreakEvenFile file = solved();
  const Plot plot = times_plot({{"a", file}});
  for (const Series& series : plot.series)
    for (const Point& point : series.points) {
      CHECK(point.lo <= point.y);
      CHECK(point.y <= point.hi);
    }
  for (const Point& point : plot.series[0].points)
    if (point.x == 1024) {
      CHECK(point.hi == Approx(file.lengths[2].saved_s.hi));
      CHECK(point.lo == Approx(file.lengths[2].saved_s.lo));
    }
}

TEST_CASE("bandwidth: what a tier needs with its costs meets what it delivers at the mark") {
  const profile::BreakEvenFile file = solved();
  const std::vector<Plot> all = plots({{"a", file}});
  const Plot& plot = named(all, "bandwidth");
  REQUIRE(plot.series.size() == 3);
  REQUIRE(plot.marks.size() == 1);
  CHECK(plot.marks[0].y == 1e9);
  const double needed = y_at(plot.series[2], plot.marks[0].x);
  CHECK(needed < 1e9);
  CHECK(needed > 0.5e9);
  for (const profile::LengthAnswer& answer : file.lengths)
    CHECK(y_at(plot.series[0], static_cast<double>(answer.prefix_tokens)) ==
          Approx(answer.break_even_Bps));
}

TEST_CASE("frontier, contention and piece size show what the file holds") {
  const profile::BreakEvenFile file = solved();
  const std::vector<Plot> all = plots({{"a", file}});
  for (const Point& point : named(all, "frontier").series.at(0).points) {
    CHECK(point.y >= 0);
    CHECK(point.y <= 1);
  }
  const Plot& contention = named(all, "contention");
  REQUIRE(contention.series.size() == 2);
  CHECK(contention.series[0].points[1].y == 0.5e9);
  CHECK(contention.series[1].points[1].y == 1e9);
  const Plot& pieces = named(all, "pieces");
  const double bytes = 8192 * 1e5;
  for (const Point& point : pieces.series.at(0).points)
    CHECK(point.y == Approx(0.1 + 1e-5 * std::ceil(bytes / point.x) + bytes / 1e9));
}

TEST_CASE("several files: a label and a line style each, one colour per tier name") {
  const std::vector<std::string> labels = label_files({"x/a.json", "y/a.json", "b"});
  CHECK(labels == std::vector<std::string>{"a", "a (2)", "b"});
  const Plot plot = times_plot({{labels[0], solved()}, {labels[1], solved()}});
  REQUIRE(plot.series.size() == 4);
  CHECK(plot.series[1].name != plot.series[3].name);
  CHECK(plot.series[1].color == plot.series[3].color);
  CHECK(plot.series[1].file != plot.series[3].file);
}

TEST_CASE("nothing to draw is said, not drawn") {
  profile::BreakEvenFile file = test::sample_file();
  file.tiers[0].load.reset();
  file.tiers[0].status = "uncalibrated";
  file.tiers[0].reason = "no O_DIRECT";
  file.tiers[0].break_even = {};
  file.tiers[0].break_even.reason = "no O_DIRECT";
  fit::solve(file, {});
  const std::vector<Plot> all = plots({{"a", file}});
  CHECK(named(all, "times").series.size() == 1); // recompute alone
  CHECK(!named(all, "pieces").empty.empty());
  CHECK(!named(all, "contention").empty.empty());
  const std::string text = page({{"a", file}}, "n");
  CHECK(text.find("no O_DIRECT") != std::string::npos);
}

TEST_CASE("a file with absurd numbers still makes a page of finite numbers") {
  profile::BreakEvenFile file = test::sample_file();
  file.calibrated_lengths = {1, std::int64_t{1} << 60};
  file.model.chunk_tokens = 1;
  const std::string too_long = page({{"a", file}}, "n");
  CHECK(too_long.find("too many steps") != std::string::npos);
  file = test::sample_file();
  file.tiers[0].load->fixed_s = {1e300, 1e300, 1e300};
  file.tiers[0].load->bandwidth[0].bandwidth_Bps = {1e-300, 1e-300, 1e300};
  for (const Plot& plot : plots({{"a", file}}))
    for (const Series& series : plot.series)
      for (const Point& point : series.points) {
        CHECK(std::isfinite(point.y));
        CHECK(std::isfinite(point.hi));
      }
}

TEST_CASE("a tier that never wins and one that always does have no mark") {
  profile::BreakEvenFile file = solved();
  file.tiers[0].break_even = {profile::Verdict::never, "", 0, 0, 0, 0.95};
  CHECK(times_plot({{"a", file}}).marks.empty());
  file.tiers[0].break_even = {profile::Verdict::always, "", 64, 64, 64, 0.95};
  CHECK(times_plot({{"a", file}}).marks.empty());
  // An interval without an upper end reaches to the longest length.
  file.tiers[0].break_even = {profile::Verdict::at, "", 4000, 3000, 0, 0.95};
  CHECK(times_plot({{"a", file}}).marks.at(0).hi == 16384);
}

TEST_CASE("ticks are round and inside the axis") {
  Axis axis;
  axis.unit = Unit::tokens;
  set_range(axis, 128, 131072);
  CHECK(axis.ticks.front().label == "128");
  CHECK(axis.ticks.back().label == "128k");
  axis.unit = Unit::seconds;
  set_range(axis, 0.004, 0.9);
  for (const Tick& tick : axis.ticks) {
    CHECK(axis.position(tick.at) >= -1e-9);
    CHECK(axis.position(tick.at) <= 1 + 1e-9);
  }
  CHECK(axis.ticks.front().label == "5 ms");
  axis.log = false;
  axis.unit = Unit::fraction;
  set_range(axis, 0, 1);
  CHECK(axis.ticks.front().label == "0 %");
  CHECK(axis.ticks.back().label == "100 %");
}
