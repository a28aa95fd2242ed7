#pragma once

#include "profile/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Has a node changed between two calibrations? Pure functions: no clock, no I/O.
namespace breakeven::compare {

/// One break-even file and what its values do not hold.
struct Input {
  std::string name; ///< as the user named it
  std::string schema_version;
  profile::BreakEvenFile file;
};

/// Reads and validates as profile::read_file does, and keeps the version that the file states.
/// Throws error::bad_input; another major version is refused by name.
Input read_input(const std::string& path);

/// Relative standard deviation of a median between two calibrations of an unchanged node, beyond
/// what the samples of one run show. Measured by scripts/false_alarms; docs/compare.md.
struct RunToRun {
  double compute = 0.03;    ///< prefill steps and their parts
  double load = 0.08;       ///< loads, their fixed costs and bandwidths
  double wake_up_s = 10e-6; ///< of any time: waking threads, queues and devices takes what it takes
};

struct Options {
  double threshold = 0.03; ///< relative change below which nothing is reported
  double confidence = 0.95;
  RunToRun run_to_run;
  int replicates = 400; ///< of the bootstrap
  std::uint64_t seed = 1;
};

enum class Verdict { same, faster, slower, changed, inconclusive };
const char* to_string(Verdict verdict);

/// One thing that differs between the files besides measured values.
struct Difference {
  std::string what, base, next;
  std::string effect;    ///< what it means for the comparison
  bool blocking = false; ///< the quantities that it touches cannot be compared
};

/// One file's value of a quantity.
struct Side {
  bool present = false;
  double value = 0, lo = 0, hi = 0; ///< interval: within the run and from run to run
  std::int64_t samples = 0;         ///< raw samples behind it; 0 = none in the file
  std::string text;                 ///< instead of the value where that is no number ("never")
};

/// The name of the quantity that stands for all sampled ones of its group: their usual ratio.
inline constexpr const char* whole_group = "all together";

enum class Unit { seconds, bytes_per_second, tokens };

struct Quantity {
  std::string group; ///< "dense steps", "tier disk", ...
  std::string name;  ///< within its group
  Unit unit = Unit::seconds;
  Side base, next;
  bool compared = false;                        ///< ratio and p are known
  double ratio = 1, ratio_lo = 1, ratio_hi = 1; ///< NEW / BASE with its interval
  double p = 1;          ///< that this is chance, corrected for the number of comparisons
  double rank_p = -1;    ///< Mann-Whitney, uncorrected; -1 = too few samples to have an opinion
  double detectable = 0; ///< smallest relative change that would have been found; 0 = unknown
  Verdict verdict = Verdict::inconclusive;
  bool lost = false; ///< NEW cannot do what BASE could: counts as a regression
  std::string reason;
};

enum class Overall { same, improved, changed, regressed, inconclusive, incomparable };
const char* to_string(Overall overall);

struct Counts {
  std::size_t same = 0, faster = 0, slower = 0, changed = 0, inconclusive = 0, lost = 0;
};

struct Comparison {
  std::vector<Difference> differences;
  std::vector<Quantity> quantities;
  Counts counts;
  Overall overall = Overall::inconclusive;
  bool doubted = false; ///< verdicts were withdrawn: a file was measured on a busy machine
  [[nodiscard]] bool comparable() const; ///< no difference blocks the model's quantities
};

/// Never throws for files that read_input accepts: what cannot be judged is inconclusive, with a
/// reason.
Comparison compare(const Input& base, const Input& next, const Options& options = {});

/// What makes a comparison fail. Each fails on what those before it fail on, too.
enum class FailOn { regressed, changed, inconclusive };

/// Empty, or why the comparison fails. Files that cannot be compared always fail: a gate that
/// checked nothing must not pass.
std::string failure(const Comparison& comparison, FailOn fail_on);

} // namespace breakeven::compare
