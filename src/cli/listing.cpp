#include "cli/listing.hpp"

#include "compute/compute.hpp"
#include "model/architecture.hpp"
#include "tier/tier.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace breakeven::cli {
namespace {

std::string availability(const std::string& reason) {
  return reason.empty() ? "available" : "unavailable (" + reason + ")";
}

} // namespace

std::string listing_text() {
  std::string text = "devices\n";
  for (const auto& [name, backend] : compute::backends().rows()) {
    text += fmt::format("  {}: {}: {}\n", name, availability(backend.unavailable_reason()),
                        backend.summary);
  }
  text += "tiers (--tier KIND[:TARGET][,KEY=VALUE]...)\n";
  for (const auto& [name, kind] : tier::tier_kinds().rows()) {
    text +=
        fmt::format("  {}: {}: {}\n", name, availability(kind.unavailable_reason()), kind.summary);
    for (const auto& [key, meaning] : kind.keys)
      text += fmt::format("      {:<14} {}\n", key, meaning);
  }
  text += "models (--model)\n";
  for (const std::string& model : model::bundled_models())
    text += "  " + model + "\n";
  return text;
}

std::string listing_json() {
  nlohmann::ordered_json document;
  for (const auto& [name, backend] : compute::backends().rows())
    document["devices"].push_back({{"name", name},
                                   {"unavailable", backend.unavailable_reason()},
                                   {"summary", backend.summary}});
  for (const auto& [name, kind] : tier::tier_kinds().rows()) {
    nlohmann::ordered_json keys = nlohmann::ordered_json::object();
    for (const auto& [key, meaning] : kind.keys)
      keys[key] = meaning;
    document["tiers"].push_back({{"name", name},
                                 {"unavailable", kind.unavailable_reason()},
                                 {"summary", kind.summary},
                                 {"keys", keys}});
  }
  document["models"] = model::bundled_models();
  return document.dump(1) + "\n";
}

} // namespace breakeven::cli
