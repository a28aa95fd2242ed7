#pragma once

#include "doctor/probes.hpp"
#include "node/node.hpp"
#include "node/node_files.hpp"
#include "support/registry.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Looks for everything that spoils a measurement or slows loads down, and says how to mend it.
namespace breakeven::doctor {

/// From bad to good, the order in which they are shown.
enum class State {
  missing, ///< required for what was asked, and not there
  warning, ///< costs speed or makes measurements wrong or noisy
  unknown, ///< could not be found out; `found` says why
  note,    ///< worth knowing
  ok
};
const char* to_string(State state);

/// What one check found about one thing. Texts may come from the machine and are not yet fit for a
/// terminal.
struct Finding {
  std::string name; ///< "io_uring", "link of 0000:01:00.0", ...
  State state = State::ok;
  std::string found;
  std::string why; ///< why it matters
  std::string fix; ///< what to do about it; empty for `ok`
};

struct TierAsked {
  std::string text; ///< the spec
  std::string kind;
  std::vector<std::string> directories; ///< of a file tier
  std::uint64_t scratch_bytes = 0;      ///< what calibrating it needs; 0 = unknown
  bool requested = false;               ///< named by the user: it must work
};

/// What the checks look at. Files are read below a root, so that tests can show them any machine.
struct Context {
  node::Files files{""};
  node::NodeFacts node;
  std::string device; ///< as asked for; "" = none in particular
  std::vector<TierAsked> tiers;
  Probes probes;
};

struct Check {
  const char* summary;
  std::function<std::vector<Finding>(const Context&)> run;
};

/// All checks by theme; one line each in checks.cpp.
const registry<Check>& checks();

/// Runs every check. A check that throws becomes an `unknown` finding. Findings are ordered by
/// state, bad ones first, and keep the order of checks within one.
std::vector<Finding> examine(const Context& context);

struct Request {
  std::string device;             ///< "" = none in particular
  std::vector<std::string> tiers; ///< specs; empty = memory and file: on the current directory
};
/// The context of this machine. Throws error::usage for a device or tier that cannot be parsed.
Context look_here(const Request& request);

/// True when something required is missing.
bool anything_missing(const std::vector<Finding>& findings);

} // namespace breakeven::doctor
