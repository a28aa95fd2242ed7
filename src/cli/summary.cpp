#include "cli/summary.hpp"

#include "cli/table.hpp"
#include "cli/tier_notes.hpp"
#include "report/report.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::cli {
namespace {

using namespace profile;

/// Bytes of a short prefix per token: all windows still grow.
std::int64_t kv_slope(const BreakEvenFile& file) {
  std::int64_t bytes = file.model.kv_bytes_per_token;
  for (const WindowTerm& window : file.model.kv_windows)
    bytes += window.bytes_per_token;
  return bytes;
}

std::string heading(const BreakEvenFile& file) {
  const Prefill& prefill = file.prefill;
  std::string text =
      fmt::format("{} on {}{}\n", printable(file.model.name), printable(prefill.device_name),
                  prefill.threads > 0 ? fmt::format(", {} threads", prefill.threads) : "");
  text += fmt::format("{}, {}; {} of KV cache per token ({}); steps of up to {} tokens\n",
                      printable(prefill.compute_dtype), printable(prefill.kernel_source),
                      format_bytes(static_cast<double>(kv_slope(file))),
                      printable(file.model.kv_dtype), format_tokens(file.model.chunk_tokens));
  if (file.status == "measured")
    text += fmt::format("measured {} in {}\n", printable(file.tool.started_utc),
                        format_seconds(file.tool.duration_s));
  else
    text += fmt::format("{}, NOT MEASURED on this node\n", printable(file.status));
  return text;
}

std::string tier_table(const BreakEvenFile& file) {
  Table table({"tier", "fixed cost", "per piece", "bandwidth", "loading wins from"});
  table.left(4);
  for (const Tier& tier : file.tiers) {
    if (!tier.load) {
      table.add({printable(tier.name), "-", "-", "-", "uncalibrated: " + printable(tier.reason)});
      continue;
    }
    table.add({printable(tier.name), format_seconds(tier.load->fixed_s.value),
               format_seconds(tier.load->piece_s.value),
               format_rate(tier.load->bandwidth.front().bandwidth_Bps.value),
               break_even_text(tier.break_even, file.calibrated_lengths.back())});
  }
  return table.text();
}

std::string length_table(const BreakEvenFile& file) {
  std::vector<std::string> header = {"prefix", "KV cache", "recompute", "to tie"};
  for (const Tier& tier : file.tiers)
    if (tier.load) header.push_back("load from " + printable(tier.name));
  Table table(header);
  for (const LengthAnswer& length : file.lengths) {
    std::vector<std::string> row = {
        format_tokens(length.prefix_tokens), format_bytes(static_cast<double>(length.kv_bytes)),
        format_seconds(length.saved_s.value),
        length.break_even_Bps > 0 ? format_rate(length.break_even_Bps) : "-"};
    for (const TierAnswer& answer : length.tiers)
      row.push_back(
          fmt::format("{} {:<9}", format_seconds(answer.load_s.value), printable(answer.winner)));
    row.resize(header.size());
    table.add(row);
  }
  return table.text();
}

} // namespace

std::string break_even_text(const BreakEven& answer, std::int64_t longest_tokens) {
  return report::break_even_text(answer, longest_tokens);
}

std::string summary_text(const BreakEvenFile& file) {
  std::string text = heading(file) + "\n" + tier_table(file) + "\n" + length_table(file);
  text += "\nrecompute: the prefill time that loading this prefix saves\n"
          "to tie:    the bandwidth that a tier without fixed cost must deliver\n"
          "load, recompute: which one is faster; tie: their 95 % intervals overlap\n";
  if (const std::string notes = tier_notes(file); !notes.empty()) text += "\n" + notes;
  for (const Warning& warning : file.warnings)
    text += fmt::format("warning: {}\n", printable(warning.message));
  return text;
}

} // namespace breakeven::cli
