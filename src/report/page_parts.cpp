#include "report/page_parts.hpp"

#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven::report {
namespace {

using profile::Estimate;

std::string row(const char* tag, const std::string& first, const std::vector<std::string>& cells) {
  std::string text = "<tr>" + first;
  for (const std::string& cell : cells)
    text += fmt::format("<{}{}>{}</{}>", tag, *tag == 't' && tag[1] == 'h' ? " scope=\"col\"" : "",
                        cell, tag);
  return text + "</tr>\n";
}

std::string value_text(const Estimate& e, Unit unit) {
  std::string text = format(e.value, unit);
  if (e.lo != e.hi)
    text += fmt::format(" <small>{} to {}</small>", format(e.lo, unit), format(e.hi, unit));
  return text;
}

/// The point of a series at x; between two of them on the line that is drawn, and nothing outside.
std::string cell(const Series& series, double x, const Plot& plot) {
  const auto right =
      std::lower_bound(series.points.begin(), series.points.end(), x,
                       [](const Point& p, double at) { return p.x < at * (1 - 1e-12); });
  if (right == series.points.end() || (right == series.points.begin() && right->x > x * 1.000001))
    return "-";
  if (right->x <= x * 1.000001) return value_text({right->y, right->lo, right->hi}, plot.y.unit);
  const Point& a = *(right - 1);
  const double share = std::log(x / a.x) / std::log(right->x / a.x);
  const double y = plot.y.log ? std::exp(std::lerp(std::log(a.y), std::log(right->y), share))
                              : std::lerp(a.y, right->y, share);
  return value_text({y, y, y}, plot.y.unit);
}

void fact(std::string& list, const char* name, const std::string& value) {
  if (!value.empty()) list += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, escaped(value));
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts)
    if (!part.empty()) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string joined(const std::map<std::string, std::string>& facts) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : facts)
    parts.push_back(key + " " + value);
  return joined(parts, "; ");
}

void model_facts(std::string& list, const profile::BreakEvenFile& file) {
  const profile::Model& model = file.model;
  fact(list, "Model", model.name + (model.source.empty() ? "" : ", " + model.source));
  std::vector<std::string> layers;
  for (const profile::LayerKind& kind : model.layer_kinds)
    layers.push_back(fmt::format("{} {}", kind.count, kind.name));
  fact(list, "Layers", joined(layers, ", "));
  fact(list, "KV cache",
       fmt::format("{}, {} per token, blocks of {} tokens, steps of up to {} tokens, TP {}",
                   model.kv_dtype, format_bytes(static_cast<double>(model.kv_bytes_per_token)),
                   model.block_tokens, format_tokens(model.chunk_tokens), model.tensor_parallel));
  fact(list, "Overrides", joined(model.overrides, "; "));
  fact(list, "Assumptions", joined(model.assumptions, "; "));
}

void node_facts(std::string& list, const profile::BreakEvenFile& file) {
  const profile::Node& node = file.node;
  const profile::Prefill& prefill = file.prefill;
  fact(list, "Device",
       prefill.device_name +
           (prefill.threads > 0 ? fmt::format(", {} threads", prefill.threads) : ""));
  fact(list, "Kernels",
       joined({prefill.compute_dtype, prefill.kernel_source, prefill.regime}, ", "));
  if (!prefill.step_checks.empty()) {
    std::vector<double> errors;
    for (const profile::StepCheck& check : prefill.step_checks)
      errors.push_back(std::fabs(check.relative_error));
    std::sort(errors.begin(), errors.end());
    fact(list, "Whole steps",
         fmt::format("{} measured; the curve is off by {:.2g} % (median), {:.2g} % (worst)",
                     errors.size(), 100 * errors[errors.size() / 2], 100 * errors.back()));
  }
  fact(list, "CPU",
       node.cpu_model.empty() ? ""
                              : fmt::format("{}, {} of {} logical CPUs", node.cpu_model,
                                            node.usable_cpus, node.logical_cpus));
  if (node.memory_bytes > 0)
    fact(list, "Memory", format_bytes(static_cast<double>(node.memory_bytes)));
  fact(list, "System", joined({node.os, node.kernel, node.hypervisor, node.governor}, " "));
  fact(list, "Libraries", joined(node.libraries));
  fact(list, "Fingerprint", node.fingerprint);
}

void tier_facts(std::string& list, const profile::Tier& tier) {
  std::string text = fmt::format("{} ({}), layout {}: {} pieces per {} tokens", tier.spec,
                                 tier.kind, tier.layout.name, tier.layout.pieces_per_chunk,
                                 format_tokens(tier.layout.chunk_tokens));
  if (tier.load && !tier.sweep.empty())
    text +=
        fmt::format("; load model off by {:.2g} % (median), {:.2g} % (worst) at points left out",
                    100 * tier.load->holdout_median_error, 100 * tier.load->holdout_worst_error);
  if (tier.store_Bps > 0) text += "; stores at " + format_rate(tier.store_Bps);
  if (!tier.identity.empty()) text += "; " + joined(tier.identity);
  list += fmt::format("<dt>Tier {}</dt><dd>{}</dd>\n", escaped(tier.name), escaped(text));
}

} // namespace

std::string plot_table(const Plot& plot) {
  std::string text = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" +
                     escaped(plot.title) + ", table\"><table>\n<thead>";
  std::vector<std::string> names;
  for (const Series& series : plot.series)
    names.push_back(escaped(series.name));
  text += row("th", "<th scope=\"col\">" + escaped(plot.x.label) + "</th>", names);
  text += "</thead>\n<tbody>\n";
  for (const double x : plot.rows) {
    std::vector<std::string> cells;
    for (const Series& series : plot.series)
      cells.push_back(cell(series, x, plot));
    text += row("td", "<th scope=\"row\">" + format(x, plot.x.unit) + "</th>", cells);
  }
  text += "</tbody></table></div>\n";
  for (const Mark& mark : plot.marks) {
    text += fmt::format("<p>{}: {}", escaped(mark.name), format(mark.x, plot.x.unit));
    if (mark.hi > mark.lo)
      text +=
          fmt::format(" ({} to {})", format(mark.lo, plot.x.unit), format(mark.hi, plot.x.unit));
    text += fmt::format(" at {}</p>\n", format(mark.y, plot.y.unit));
  }
  return text;
}

std::string verdict_section(const std::vector<Input>& inputs) {
  const bool several = inputs.size() > 1;
  std::string text =
      "<section id=\"verdicts\">\n<h2>Loading wins from</h2>\n<div class=\"scroll\" tabindex=\"0\" "
      "role=\"region\" aria-label=\"Verdicts\"><table>\n<thead>";
  text += row("th",
              several ? "<th scope=\"col\">file</th><th scope=\"col\">tier</th>"
                      : "<th scope=\"col\">tier</th>",
              {"loading wins from", "fixed cost", "per piece", "bandwidth"});
  text += "</thead>\n<tbody>\n";
  for (const Input& input : inputs)
    for (const profile::Tier& tier : input.file.tiers) {
      std::string first = "<th scope=\"row\">" + escaped(tier.name) + "</th>";
      if (several) first = "<td>" + escaped(input.label) + "</td>" + first;
      std::vector<std::string> cells = {
          escaped(break_even_text(tier.break_even, input.file.calibrated_lengths.back()))};
      if (tier.load) {
        cells.push_back(value_text(tier.load->fixed_s, Unit::seconds));
        cells.push_back(value_text(tier.load->piece_s, Unit::seconds));
        cells.push_back(value_text(tier.load->bandwidth.front().bandwidth_Bps, Unit::Bps));
      } else {
        cells.resize(4, "-");
      }
      text += row("td", first, cells);
    }
  text += "</tbody></table></div>\n";
  for (const Input& input : inputs)
    if (input.file.status != "measured")
      text += fmt::format(
          "<p class=\"note\"><strong>{}, not measured</strong>{}</p>\n", escaped(input.file.status),
          several ? ": " + escaped(input.label) : " on a node: calibrate for real figures");
  return text + "</section>\n";
}

std::string warning_section(const std::vector<Input>& inputs) {
  std::string items;
  for (const Input& input : inputs)
    for (const profile::Warning& warning : input.file.warnings)
      items +=
          fmt::format("<li>{}{}</li>\n",
                      inputs.size() > 1 ? "<strong>" + escaped(input.label) + "</strong>: " : "",
                      escaped(warning.message));
  return items.empty() ? ""
                       : "<section id=\"warnings\">\n<h2>Warnings</h2>\n<ul>\n" + items +
                             "</ul>\n</section>\n";
}

std::string provenance_section(const std::vector<Input>& inputs) {
  std::string text = "<section id=\"provenance\">\n<h2>Provenance</h2>\n";
  for (const Input& input : inputs) {
    const profile::Tool& tool = input.file.tool;
    std::string list;
    fact(list, "Status", input.file.status);
    fact(list, "Made",
         tool.started_utc + (tool.duration_s > 0 ? ", in " + format_seconds(tool.duration_s) : ""));
    fact(list, "Tool", fmt::format("breakeven {} ({})", tool.version, tool.revision));
    list += "<dt>Command</dt><dd><code>";
    for (const std::string& word : tool.argv)
      list += escaped(word) + " ";
    list += "</code></dd>\n";
    model_facts(list, input.file);
    node_facts(list, input.file);
    for (const profile::Tier& tier : input.file.tiers)
      tier_facts(list, tier);
    text += fmt::format("<details open><summary>{}</summary>\n<dl>\n{}</dl></details>\n",
                        escaped(input.label), list);
  }
  return text + "</section>\n";
}

} // namespace breakeven::report
