#include "compare/pairs.hpp"

#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace breakeven::compare {
namespace {

using namespace profile;

std::string kinds_text(const Model& model) {
  std::string text;
  for (const LayerKind& kind : model.layer_kinds)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind.count, kind.name);
  return text;
}

std::string windows_text(const Model& model) {
  std::string text = std::to_string(model.kv_bytes_per_token);
  for (const WindowTerm& window : model.kv_windows)
    text += fmt::format(" + {} up to {} tokens", window.bytes_per_token, window.window_tokens);
  return text;
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? "" : " ") + part;
  return text;
}

class Finder {
public:
  void operator()(const std::string& what, const std::string& base, const std::string& next,
                  const char* effect, bool blocking = false) {
    if (base == next) return;
    const auto shown = [](const std::string& text) { return text.empty() ? "none" : text; };
    m_found.push_back({what, shown(base), shown(next), effect, blocking});
  }
  void operator()(const std::string& what, std::int64_t base, std::int64_t next, const char* effect,
                  bool blocking = false) {
    (*this)(what, std::to_string(base), std::to_string(next), effect, blocking);
  }
  /// Keys of both maps whose values differ, apart from those that `skip` names.
  void map(const std::string& what, const std::map<std::string, std::string>& base,
           const std::map<std::string, std::string>& next, const char* effect,
           bool (*skip)(const std::string&)) {
    std::set<std::string> keys;
    for (const auto* side : {&base, &next})
      for (const auto& [key, value] : *side)
        if (!skip(key)) keys.insert(key);
    const auto value_of = [](const auto& side, const std::string& key) {
      const auto found = side.find(key);
      return found == side.end() ? std::string() : found->second;
    };
    for (const std::string& key : keys)
      (*this)(what + " " + key, value_of(base, key), value_of(next, key), effect);
  }
  std::vector<Difference> take() {
    std::stable_partition(m_found.begin(), m_found.end(),
                          [](const Difference& difference) { return difference.blocking; });
    return std::move(m_found);
  }

private:
  std::vector<Difference> m_found;
};

constexpr const char* other_work = "prefill steps are other work: they are not compared";

void add_model(Finder& find, const BreakEvenFile& base, const BreakEvenFile& next) {
  const Model &a = base.model, &b = next.model;
  find("model", a.name, b.name, other_work, true);
  find("model parameters", a.parameters, b.parameters, other_work, true);
  find("model layers", kinds_text(a), kinds_text(b), other_work, true);
  find("KV dtype", a.kv_dtype, b.kv_dtype, other_work, true);
  find("KV bytes per token", windows_text(a), windows_text(b), other_work, true);
  find("tensor parallel ranks", a.tensor_parallel, b.tensor_parallel, other_work, true);
  find("compute dtype", base.prefill.compute_dtype, next.prefill.compute_dtype, other_work, true);
  find("chunk tokens", a.chunk_tokens, b.chunk_tokens,
       "steps of equal size are compared, break-even lengths answer different questions");
  find("block tokens", a.block_tokens, b.block_tokens, "loads move other pieces");
  find("model overrides", join(a.overrides), join(b.overrides), "check that both mean the same");
}

void add_node(Finder& find, const BreakEvenFile& base, const BreakEvenFile& next) {
  constexpr const char* other_node = "this compares two nodes, not one over time";
  constexpr const char* reason = "a likely reason for changes";
  const Prefill &a = base.prefill, &b = next.prefill;
  find("device", a.device, b.device, "this compares two devices, not one over time");
  find("device name", a.device_name, b.device_name, "this compares two devices, not one over time");
  find("threads", a.threads, b.threads, reason);
  find("kernel source", a.kernel_source, b.kernel_source, reason);
  find("regime", a.regime, b.regime, reason);
  find("CPU", base.node.cpu_model, next.node.cpu_model, other_node);
  find("node fingerprint", base.node.fingerprint, next.node.fingerprint,
       "other hardware, or hardware that came or went");
  find("usable CPUs", base.node.usable_cpus, next.node.usable_cpus, reason);
  find("CPU governor", base.node.governor, next.node.governor, reason);
  find("hypervisor", base.node.hypervisor, next.node.hypervisor, reason);
  find("operating system", base.node.os, next.node.os, reason);
  find("kernel", base.node.kernel, next.node.kernel, reason);
  find.map("library", base.node.libraries, next.node.libraries, reason,
           [](const std::string&) { return false; });
  find("breakeven", base.tool.version, next.tool.version,
       "another version may measure in another way");
}

/// Keys that a calibration finds out anew each time.
bool found_out(const std::string& key) {
  return key.starts_with("ideal_") || key == "requests" || key == "pool";
}

void add_tiers(Finder& find, const BreakEvenFile& base, const BreakEvenFile& next) {
  for (const Tier& a : base.tiers) {
    const Tier* b = tier_named(next, a.name);
    if (!b) continue;
    const std::string what = "tier " + a.name;
    find(what + " kind", a.kind, b->kind, "another kind of storage: it is not compared", true);
    find(what + " spec", a.spec, b->spec, "loads may be made in another way");
    find(what + " layout",
         fmt::format("{}, {} pieces per {} tokens", a.layout.name, a.layout.pieces_per_chunk,
                     a.layout.chunk_tokens),
         fmt::format("{}, {} pieces per {} tokens", b->layout.name, b->layout.pieces_per_chunk,
                     b->layout.chunk_tokens),
         "only loads of equal bytes and pieces are compared");
    find.map(what, a.identity, b->identity, "a likely reason for changes of this tier", found_out);
  }
}

std::string fact(const std::map<std::string, std::string>& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? "" : found->second;
}

} // namespace

const Tier* tier_named(const BreakEvenFile& file, const std::string& name) {
  for (const Tier& tier : file.tiers)
    if (tier.name == name) return &tier;
  return nullptr;
}

std::vector<Difference> differences_of(const Input& base, const Input& next) {
  Finder find;
  add_model(find, base.file, next.file);
  find("schema", base.schema_version, next.schema_version,
       "what only one version records is not compared");
  find("status", base.file.status, next.file.status,
       "one of them was not measured: differences may be errors of the prediction");
  add_node(find, base.file, next.file);
  add_tiers(find, base.file, next.file);
  return find.take();
}

std::string blocked_by(const std::vector<Difference>& differences, const std::string& scope) {
  for (const Difference& difference : differences) {
    if (!difference.blocking) continue;
    const bool of_tier = difference.what.starts_with("tier ");
    const bool touches = scope == "model" ? !of_tier : difference.what == "tier " + scope + " kind";
    if (touches)
      return fmt::format("not comparable: {} is {} in BASE and {} in NEW", difference.what,
                         difference.base, difference.next);
  }
  return "";
}

std::string likely_reason(const BreakEvenFile& base, const BreakEvenFile& next,
                          const std::string& tier) {
  std::vector<std::string> reasons;
  const auto moved = [&](const std::string& what, const std::string& a, const std::string& b) {
    if (a != b && !a.empty() && !b.empty())
      reasons.push_back(fmt::format("{} was {} and is {}", what, a, b));
  };
  const auto throttled = [](const BreakEvenFile& file) {
    return std::any_of(file.warnings.begin(), file.warnings.end(), [](const Warning& warning) {
      return warning.code.find("throttl") != std::string::npos;
    });
  };
  if (throttled(base) != throttled(next))
    reasons.push_back(throttled(next) ? "the device was throttled in NEW"
                                      : "the device was throttled in BASE");
  moved("the CPU governor", base.node.governor, next.node.governor);
  for (const auto& [key, value] : base.node.libraries)
    if (key.find("clock") != std::string::npos) moved(key, value, fact(next.node.libraries, key));
  const Tier *a = tier_named(base, tier), *b = tier_named(next, tier);
  if (a && b)
    for (const auto& [key, value] : a->identity)
      if (key == "requests" || key == "reads" || key == "buffers" || key == "page_cache" ||
          key.find("link") != std::string::npos || key.find("clock") != std::string::npos)
        moved(key, value, fact(b->identity, key));
  std::string text;
  for (const std::string& reason : reasons)
    text += (text.empty() ? "" : "; ") + reason;
  return text;
}

} // namespace breakeven::compare
