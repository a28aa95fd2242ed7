#include "cli/verify_page.hpp"

#include "cli/summary.hpp"
#include "cli/table.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace breakeven::cli {
namespace {

using namespace verify;
using json = nlohmann::ordered_json;

std::string percent(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}

std::string crossing_text(const TierReport& tier, std::int64_t longest_tokens) {
  if (tier.crossing_tokens == 0)
    return fmt::format("no crossing up to {} tokens", format_tokens(longest_tokens));
  return fmt::format("about {} tokens", format_tokens(tier.crossing_tokens));
}

std::string tier_sentence(const TierReport& tier, std::int64_t longest_tokens) {
  const std::string claim = break_even_text(tier.claim, longest_tokens);
  switch (tier.outcome) {
  case Outcome::confirmed:
    if (tier.claim.verdict != profile::Verdict::at) return fmt::format("confirmed: {}", claim);
    return fmt::format("confirmed: {}; by these times {}", claim,
                       crossing_text(tier, longest_tokens));
  case Outcome::moved:
    return fmt::format("moved to {}; the file says {}: {}", crossing_text(tier, longest_tokens),
                       claim, tier.reason);
  case Outcome::cannot_say:
    return fmt::format("cannot say: {}{}", printable(tier.reason),
                       tier.crossing_known ? fmt::format("; the file says {}, these times {}",
                                                         claim, crossing_text(tier, longest_tokens))
                                           : "");
  case Outcome::no_claim:
    return "no claim to verify: uncalibrated: " + printable(tier.reason);
  }
  return "";
}

std::string point_table(const Report& report) {
  Table table({"tier", "where", "cached", "of", "load+rest", "predicted", "error", "recompute",
               "predicted", "error", "faster"});
  table.left(1);
  table.left(10);
  std::vector<const Point*> points;
  for (const Point& point : report.points)
    points.push_back(&point);
  std::stable_sort(points.begin(), points.end(), [](const Point* a, const Point* b) {
    const auto key = [](const Question& q) {
      return std::tuple(q.tier, !q.whole(), q.whole() ? 0 : q.prompt, q.cached);
    };
    return key(a->question) < key(b->question);
  });
  for (const Point* point : points) {
    const Question& q = point->question;
    const std::string name = printable(report.tier_names.at(q.tier));
    std::string faster = to_string(point->measured);
    if (point->measured != Winner::tie && point->measured != point->predicted)
      faster += fmt::format(" (predicted {})", to_string(point->predicted));
    table.add({name, to_string(q.place), format_tokens(q.cached), format_tokens(q.prompt),
               format_seconds(point->hit.measured.median), format_seconds(point->hit.predicted_s),
               percent(point->hit.error()), format_seconds(point->recompute.measured.median),
               format_seconds(point->recompute.predicted_s), percent(point->recompute.error()),
               faster});
  }
  return table.text();
}

json timing_json(const Timing& timing) {
  return {{"predicted_s", timing.predicted_s}, {"measured_s", timing.measured.median},
          {"lo_s", timing.measured.lo},        {"hi_s", timing.measured.hi},
          {"relative_error", timing.error()},  {"samples_s", timing.samples_s}};
}

json point_json(const Report& report, const Point& point) {
  return {{"tier", report.tier_names.at(point.question.tier)},
          {"place", to_string(point.question.place)},
          {"cached_tokens", point.question.cached},
          {"prompt_tokens", point.question.prompt},
          {"hit", timing_json(point.hit)},
          {"recompute", timing_json(point.recompute)},
          {"predicted_load_s", point.predicted_load_s},
          {"measured_load_s", point.measured_load_s},
          {"predicted", to_string(point.predicted)},
          {"measured", to_string(point.measured)},
          {"decides_load", point.decides_load}};
}

json tier_json(const TierReport& tier) {
  json row = {{"name", tier.name},
              {"outcome", to_string(tier.outcome)},
              {"reason", tier.reason},
              {"claim",
               {{"verdict", profile::to_string(tier.claim.verdict)},
                {"tokens", tier.claim.tokens},
                {"lo_tokens", tier.claim.lo_tokens},
                {"hi_tokens", tier.claim.hi_tokens}}}};
  if (!tier.crossing_known)
    row["crossing_tokens"] = nullptr;
  else
    row["crossing_tokens"] = tier.crossing_tokens;
  return row;
}

} // namespace

std::string verify_text(const Report& report, std::int64_t longest_tokens) {
  std::string text =
      fmt::format("{} on {}\n", printable(report.model), printable(report.device_name));
  if (report.differences.empty()) text += "the file was measured on this node\n";
  for (const std::string& sentence : report.differences)
    text += fmt::format("note: {}\n", printable(sentence));
  text += "\n";
  for (const TierReport& tier : report.tiers)
    text += fmt::format("{}: {}\n", printable(tier.name), tier_sentence(tier, longest_tokens));
  if (!report.points.empty()) text += "\n" + point_table(report);
  if (report.timings > 0)
    text += fmt::format("\npredicted against measured over {} times: median error {:.1f} %, worst "
                        "{:.1f} %\n",
                        report.timings, 100 * report.median_error, 100 * report.worst_error);
  for (const std::string& sentence : report.left_out)
    text += fmt::format("left out: {}\n", sentence);
  for (const std::string& sentence : report.warnings)
    text += fmt::format("warning: {}\n", printable(sentence));
  return text;
}

std::string verify_json_text(const Report& report) {
  json document = {{"status", report.status},
                   {"model", report.model},
                   {"device", report.device},
                   {"device_name", report.device_name},
                   {"exit_code", exit_code(report)},
                   {"median_error", report.median_error},
                   {"worst_error", report.worst_error},
                   {"timings", report.timings},
                   {"budget_s", report.budget_s},
                   {"duration_s", report.duration_s},
                   {"tiers", json::array()},
                   {"points", json::array()},
                   {"differences", report.differences},
                   {"left_out", report.left_out},
                   {"warnings", report.warnings}};
  for (const TierReport& tier : report.tiers)
    document["tiers"].push_back(tier_json(tier));
  for (const Point& point : report.points)
    document["points"].push_back(point_json(report, point));
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace breakeven::cli
