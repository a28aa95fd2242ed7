#pragma once

#include "profile/profile.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

/// Many break-even files of nodes that should be alike: which node stands out, why, and one policy
/// for all of them.
namespace breakeven::fleet {

/// One node's file, without its raw samples.
struct Node {
  std::string name; ///< of the file
  profile::BreakEvenFile file;
};

struct Broken {
  std::string name, reason;
};

struct Fleet {
  std::vector<Node> nodes; ///< of one model and step size, in the order of their names
  std::vector<Broken> broken;
  std::vector<Broken> others; ///< readable, but of other work than most
};

/// Files, and for a directory every *.json below it, read by several threads. Throws
/// error::bad_input when no file could be read, error::usage when there is none.
Fleet read(const std::vector<std::string>& paths);

/// Keeps the nodes that measured what most did; the rest go to `others`.
void keep_majority(Fleet& fleet);

/// Higher is better or worse does not matter here: a node is compared with the fleet's median.
enum class Unit { ratio, seconds, bytes_per_second, tokens };

/// One value per node.
struct Quantity {
  std::string group; ///< "prefill" or "tier NAME"
  std::string name;
  Unit unit = Unit::ratio;
  std::vector<double> values;                                  ///< by node; NaN = the node has none
  double median = 0, deviation = 0, smallest = 0, largest = 0; ///< deviation: robust, relative
  std::size_t count = 0;
};

struct Outlier {
  std::size_t node = 0, quantity = 0;
  double value = 0;
  double distance = 0; ///< robust standard deviations from the median; 0 where that means nothing
  std::string what;    ///< "uncalibrated", "no such tier" instead of a value
  std::vector<std::string> reasons; ///< most telling first; empty = no recorded fact differs
};

struct Options {
  double distance = 5;    ///< robust standard deviations from which a node stands out
  double threshold = 0.1; ///< and relative difference
};

struct Survey {
  std::vector<Quantity> quantities;
  std::vector<Outlier> outliers; ///< farthest first
  std::size_t median_node = 0;   ///< the node nearest to all medians
  bool too_few = false;          ///< too few nodes to call one an outlier
};

Survey survey(const Fleet& fleet, const Options& options = {});

/// Recorded facts of a node by name, as far as they can explain its times.
std::map<std::string, std::string> facts_of(const profile::BreakEvenFile& file);

/// Facts in which `node` differs from most others and that few of those that do not stand out
/// share. `group` as in Quantity: a tier's own facts come first for its quantities.
class Reasons {
public:
  explicit Reasons(const Fleet& fleet);
  [[nodiscard]] std::vector<std::string> why(std::size_t node, const std::string& group) const;

private:
  std::vector<std::map<std::string, std::string>> m_facts;
  std::map<std::string, std::map<std::string, std::size_t>> m_counts; ///< fact -> value -> nodes
};

/// One file that is safe on all nodes: loads as slow as on the slowest, recompute as fast as on
/// the fastest, where `quantile` of the nodes count (1 = all). No tier is loaded from unless that
/// wins. Status "imported": no node measured it. Throws error::bad_input when nothing fits
/// together.
profile::BreakEvenFile merge(const Fleet& fleet, double quantile,
                             const std::vector<std::string>& argv);

std::string text_report(const Fleet& fleet, const Survey& survey);
std::string json_report(const Fleet& fleet, const Survey& survey);

} // namespace breakeven::fleet
