#include "calibrate/plan.hpp"

#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>

namespace breakeven::calibrate {

std::string describe(const Plan& plan) {
  const model::Architecture& m = plan.architecture;
  std::string text;
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("{:<14}{}\n", label, value);
  };
  line("model", fmt::format("{} ({} layers, {} of KV cache per token)", printable(m.name), m.layers,
                            format_bytes(static_cast<double>(plan.layout.bytes_per_token))));
  line("device", fmt::format("{} ({} of {} CPUs usable, {})", plan.device, plan.node.usable_cpus,
                             plan.node.logical_cpus, printable(plan.node.cpu_model)));
  line("prefixes", fmt::format("up to {} tokens, {} of KV cache, in steps of {}",
                               format_tokens(plan.max_prefix_tokens),
                               format_bytes(static_cast<double>(plan.kv_buffer_bytes)),
                               format_tokens(plan.request.chunk_tokens)));
  line("recompute",
       fmt::format(
           "{} step sizes, attention at {} contexts x {} sizes, {} whole steps to check the sum",
           plan.dense_new.size(), plan.attention_context.size(), plan.attention_new.size(),
           plan.step_checks.size()));
  for (const TierPlan& tier : plan.tiers)
    line("tier",
         tier.unavailable.empty()
             ? fmt::format("{}: {} loads, {} of scratch", printable(tier.spec.text),
                           plan.sweep.size(), format_bytes(static_cast<double>(tier.scratch_bytes)))
             : fmt::format("{}: unavailable: {}", printable(tier.spec.text), tier.unavailable));
  line("time", fmt::format("about {}", format_seconds(plan.request.budget_s)));
  line("output", printable(plan.request.output));
  for (const profile::Warning& warning : plan.warnings)
    line("warning", warning.message);
  return text;
}

} // namespace breakeven::calibrate
