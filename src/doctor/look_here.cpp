#include "doctor/doctor.hpp"

#include "calibrate/plan.hpp"
#include "support/error.hpp"
#include "tier/tier.hpp"

#include <filesystem>

namespace breakeven::doctor {
namespace {

/// "cpu", "cuda" or "cuda:N": also where the device is not to be had, for the checks say why.
void require_device(const std::string& device) {
  if (device.empty() || device == "auto") return;
  static_cast<void>(compute::backends().at(device.substr(0, device.find(':'))));
}

/// Scratch space as calibrate with its defaults would take it; 0 where that cannot be planned.
std::uint64_t scratch_of(const tier::TierSpec& spec) {
  try {
    calibrate::Request request;
    request.tiers = {spec.text};
    request.device = "cpu";
    request.output.clear();
    return calibrate::make_plan(request).tiers.at(0).scratch_bytes;
  } catch (const error&) {
    return 0;
  }
}

TierAsked asked(const tier::TierSpec& spec, bool requested) {
  TierAsked tier;
  tier.text = spec.text;
  tier.kind = spec.kind;
  tier.requested = requested;
  tier.scratch_bytes = scratch_of(spec);
  if (spec.kind != "file") return tier;
  tier.directories = spec.targets;
  if (tier.directories.empty()) tier.directories = {"."};
  return tier;
}

} // namespace

Context look_here(const Request& request) {
  require_device(request.device);
  Context context;
  context.node = node::inspect();
  context.device = request.device;
  context.probes = real_probes();
  for (const std::string& text : request.tiers)
    context.tiers.push_back(asked(tier::parse_tier_spec(text), true));
  if (request.tiers.empty()) {
    const std::string here = "file:" + std::filesystem::current_path().string();
    context.tiers = {asked(tier::parse_tier_spec("memory"), false)};
    // A comma in the path would be another directory to the parser.
    if (here.find(',') == std::string::npos)
      context.tiers.push_back(asked(tier::parse_tier_spec(here), false));
  }
  return context;
}

} // namespace breakeven::doctor
