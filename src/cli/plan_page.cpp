#include "cli/plan_page.hpp"

#include "cli/table.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace breakeven::cli {
namespace {

using predict::CapacityPlan;
using json = nlohmann::ordered_json;

std::string whole(double number) {
  return format_tokens(std::llround(number));
}

std::string percent(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

std::string heading(const predict::Inputs& inputs, const predict::Load& load,
                    const CapacityPlan& plan) {
  const auto& u = inputs.request.utilisation;
  std::string text = fmt::format(
      "{} on {} x {}{}\npredicted, NOT MEASURED: {} of the published peaks assumed\n\n",
      printable(inputs.model.name), plan.devices, printable(inputs.node.device.title),
      plan.instances > 1 ? fmt::format(", {} instances", plan.instances) : "", percent(u.value));
  text += fmt::format("one prefix of {} tokens: {} ({}) of KV cache, {} per token ({})\n",
                      format_tokens(load.context_tokens), format_bytes(plan.context_bytes),
                      format_bytes_si(plan.context_bytes), format_bytes(plan.kv_bytes_per_token),
                      model::to_string(inputs.model.kv_dtype));
  if (plan.users > 0)
    text +=
        fmt::format("{} users: {} ({}) of host memory keep all of them warm\n", whole(plan.users),
                    format_bytes(plan.working_set_bytes), format_bytes_si(plan.working_set_bytes));
  if (plan.requests_per_day > 0)
    text += fmt::format("{} prompts a day ({:.3g} per second): {} of the node's prefill time at {} "
                        "hits\n",
                        whole(plan.requests_per_day), plan.requests_per_s, percent(plan.load_share),
                        percent(load.hit_rate));
  return text;
}

std::string capacity_table(const CapacityPlan& plan) {
  Table table({"tier", "room", "tokens", "prefixes", "working set", "bandwidth", "asked of it",
               "load a hit"});
  for (const predict::TierCapacity& tier : plan.tiers)
    table.add({printable(tier.name), format_bytes_si(tier.bytes), whole(tier.tokens),
               whole(tier.prefixes), plan.users > 0 ? percent(tier.share_of_users) : "-",
               tier.bandwidth_Bps > 0 ? format_rate(tier.bandwidth_Bps) : "-",
               tier.demand_Bps > 0 ? format_rate(tier.demand_Bps) : "-",
               tier.load_s > 0 ? format_seconds(tier.load_s) : "-"});
  return table.text();
}

std::string rate_table(const CapacityPlan& plan) {
  Table table({"hit rate", "prompts/s", "prompt tokens/s", "KV to load at that rate"});
  for (const predict::PrefillRate& rate : plan.rates)
    table.add({percent(rate.hit_rate), fmt::format("{:.3g}", rate.requests_per_s),
               whole(rate.prompt_tokens_per_s),
               rate.hit_Bps > 0 ? format_rate(rate.hit_Bps) : "-"});
  return table.text();
}

std::string writes(const CapacityPlan& plan) {
  std::string text =
      fmt::format("written a day: {} if prefill ran uncached all day and every token were stored",
                  format_bytes_si(plan.most_written_bytes_per_day));
  if (plan.requests_per_day > 0)
    text += fmt::format("; {} at this load", format_bytes_si(plan.written_bytes_per_day));
  text += "\n";
  for (const predict::TierCapacity& tier : plan.tiers)
    if (tier.endurance_years > 0)
      text += fmt::format("  {}: rated endurance lasts {:.3g} years\n", printable(tier.name),
                          tier.endurance_years);
  return text;
}

std::string chat_text(const predict::ChatCost& chat) {
  return fmt::format("chat: {} tokens prefilled without a cache, {} with the prefix cached; the "
                     "last turn ({} tokens, {} new) {} and {}\n",
                     format_tokens(chat.prefilled_uncached), format_tokens(chat.prefilled_cached),
                     format_tokens(chat.last_prompt), format_tokens(chat.last_new),
                     format_seconds(chat.last_uncached_s), format_seconds(chat.last_cached_s));
}

json chat_json(const predict::ChatCost& chat) {
  return {{"prefilled_uncached_tokens", chat.prefilled_uncached},
          {"prefilled_cached_tokens", chat.prefilled_cached},
          {"last_prompt_tokens", chat.last_prompt},
          {"last_new_tokens", chat.last_new},
          {"last_uncached_s", chat.last_uncached_s},
          {"last_cached_s", chat.last_cached_s}};
}

json tier_json(const predict::TierCapacity& tier) {
  return {{"name", tier.name},
          {"bytes", tier.bytes},
          {"tokens", tier.tokens},
          {"prefixes", tier.prefixes},
          {"share_of_working_set", tier.share_of_users},
          {"bandwidth_Bps", tier.bandwidth_Bps},
          {"demand_Bps", tier.demand_Bps},
          {"load_s", tier.load_s},
          {"endurance_years", tier.endurance_years},
          {"pays", tier.pays},
          {"verdict", tier.verdict}};
}

} // namespace

std::string plan_text(const predict::Inputs& inputs, const predict::Load& load,
                      const CapacityPlan& plan, const std::optional<predict::ChatCost>& chat) {
  std::string text = heading(inputs, load, plan) + "\n" + capacity_table(plan) + "\n";
  text += rate_table(plan) + "\n";
  if (plan.break_even_Bps > 0)
    text += fmt::format("to tie: a hit of {} tokens ({}) saves {}, so a tier must deliver {} into "
                        "one instance, fixed costs aside\n",
                        format_tokens(plan.hit_tokens), format_bytes(plan.hit_bytes),
                        format_seconds(plan.saved_s), format_rate(plan.break_even_Bps));
  text += writes(plan);
  if (chat) text += chat_text(*chat);
  text += "\n";
  for (const predict::TierCapacity& tier : plan.tiers)
    text += fmt::format("{}: {}\n", printable(tier.name), printable(tier.verdict));
  for (const std::string& note : plan.notes)
    text += fmt::format("note: {}\n", printable(note));
  return text;
}

std::string plan_json_text(const predict::Inputs& inputs, const predict::Load& load,
                           const CapacityPlan& plan, const std::optional<predict::ChatCost>& chat) {
  json document = {{"status", "predicted"},
                   {"model", inputs.model.name},
                   {"node", inputs.node.device.name},
                   {"devices", plan.devices},
                   {"instances", plan.instances},
                   {"utilisation", inputs.request.utilisation.value},
                   {"context_tokens", load.context_tokens},
                   {"hit_rate", load.hit_rate},
                   {"kv_bytes_per_token", plan.kv_bytes_per_token},
                   {"context_bytes", plan.context_bytes},
                   {"hit_tokens", plan.hit_tokens},
                   {"hit_bytes", plan.hit_bytes},
                   {"users", plan.users},
                   {"working_set_bytes", plan.working_set_bytes},
                   {"requests_per_day", plan.requests_per_day},
                   {"prefill_share", plan.load_share},
                   {"saved_s", plan.saved_s},
                   {"break_even_Bps", plan.break_even_Bps},
                   {"written_bytes_per_day", plan.written_bytes_per_day},
                   {"most_written_bytes_per_day", plan.most_written_bytes_per_day},
                   {"tiers", json::array()},
                   {"prefill_rates", json::array()},
                   {"notes", plan.notes}};
  for (const predict::TierCapacity& tier : plan.tiers)
    document["tiers"].push_back(tier_json(tier));
  for (const predict::PrefillRate& rate : plan.rates)
    document["prefill_rates"].push_back({{"hit_rate", rate.hit_rate},
                                         {"requests_per_s", rate.requests_per_s},
                                         {"prompt_tokens_per_s", rate.prompt_tokens_per_s},
                                         {"hit_Bps", rate.hit_Bps}});
  if (chat) document["chat"] = chat_json(*chat);
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace breakeven::cli
