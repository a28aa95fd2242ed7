#include "tier/tier.hpp"

#include "support/error.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace breakeven::tier {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw error(error_kind::usage, "tier '" + printable(text) + "': " + why);
}

bool looks_like_key(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::vector<std::string> key_names(const TierKind& kind) {
  std::vector<std::string> names;
  for (const auto& row : kind.keys)
    names.push_back(row.first);
  return names;
}

std::string known_keys(const TierKind& kind) {
  std::string text;
  for (const std::string& name : key_names(kind))
    text += " " + name;
  return text.empty() ? " it has none" : " its keys are:" + text;
}

void add_key(TierSpec& spec, const TierKind& kind, const std::string& part) {
  const std::size_t equals = part.find('=');
  const std::string name = part.substr(0, equals);
  const std::vector<std::string> names = key_names(kind);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    std::string why = "unknown key '" + printable(name) + "'";
    if (const std::string near = nearest_name(name, names); !near.empty())
      why += ", did you mean '" + near + "'?";
    refuse(spec.text, why + ";" + known_keys(kind));
  }
  const std::string value = part.substr(equals + 1);
  if (value.empty()) refuse(spec.text, "key '" + name + "' has no value; write " + name + "=VALUE");
  if (!spec.keys.emplace(name, value).second)
    refuse(spec.text, "key '" + name + "' is given twice");
}

/// A part of the text after the kind is a pair when it has a name as keys have, and a target
/// otherwise, so that a directory may hold '=' behind a '/' or a '.'.
void add_part(TierSpec& spec, const TierKind& kind, const std::string& part, bool first) {
  const std::size_t equals = part.find('=');
  const bool pair = equals != std::string::npos && looks_like_key(part.substr(0, equals));
  if (pair) return add_key(spec, kind, part);
  if (part.empty() && first) return; // "file:,access=ideal": the default target
  if (part.empty()) refuse(spec.text, "there is nothing between two commas");
  if (kind.target.empty())
    refuse(spec.text, "'" + spec.kind + "' takes no target such as '" + printable(part) + "';" +
                          known_keys(kind));
  spec.targets.push_back(part);
}

} // namespace

TierSpec parse_tier_spec(const std::string& text) {
  TierSpec spec;
  spec.text = text;
  const std::size_t colon = text.find(':');
  spec.kind = text.substr(0, colon);
  const TierKind& kind = tier_kinds().at(spec.kind);
  if (text.find('\0') != std::string::npos) refuse(text, "there is a zero byte in it");
  if (colon != std::string::npos) {
    const std::vector<std::string> parts = split(std::string_view(text).substr(colon + 1), ',');
    for (std::size_t i = 0; i < parts.size(); ++i)
      add_part(spec, kind, parts[i], i == 0);
  }
  if (!spec.targets.empty()) spec.target = spec.targets.front();
  if (kind.check) kind.check(spec);
  return spec;
}

} // namespace breakeven::tier
