#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Published facts of accelerators, CPUs, drives and networks: profiles/hardware/*.json.
namespace breakeven::predict {

/// One published number.
struct Fact {
  double value = 0; ///< SI: FLOP/s, bytes, bytes per second
  std::string text; ///< as the file has it: "3.35 TB/s"
  std::string source, date, note;
};

/// Facts by key. Which keys exist, and their dimension, is in fact_keys().
struct Hardware {
  std::string name;
  std::string kind; ///< accelerator | cpu | drive | network
  std::string title;
  std::vector<std::string> also; ///< other names that find it
  std::map<std::string, Fact> facts;

  [[nodiscard]] const Fact* find(const std::string& key) const;
  /// 0 when the fact is not there.
  [[nodiscard]] double value(const std::string& key) const;
};

enum class Dimension { flops, bytes, rate };
struct FactKey {
  std::string_view key;
  Dimension dimension;
  std::string_view meaning;
};
/// The keys that a file may have: peak FLOP/s per element type (dense), sizes, rates one way.
const std::vector<FactKey>& fact_keys();

/// Parses one file. Throws error::bad_input, naming `origin` and the key, for a fact without value,
/// unit, source or date, an unknown key or kind, or a unit of another dimension.
Hardware parse_hardware(std::string_view json, const std::string& origin);

/// All bundled ones, by name.
const std::vector<Hardware>& hardware();

/// A bundled name (any of `kinds`) or a path to a file of the same shape. Throws error::usage with
/// the nearest names for an unknown one.
Hardware find_hardware(const std::string& name_or_path, const std::vector<std::string>& kinds);

/// "h100-sxm", "h100-sxm:8", "my-node.json:4": what and how many.
struct NodeSpec {
  Hardware device;
  std::int64_t count = 1;
};
/// Throws error::usage.
NodeSpec parse_node(const std::string& text);

} // namespace breakeven::predict
