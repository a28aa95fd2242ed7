#pragma once

#include "support/registry.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace breakeven::cli {

/// What a verb's callback leaves behind for main(): 0 done, 1 the answer is "no".
/// Everything else is thrown as breakeven::error.
struct Outcome {
  int exit_code = 0;
  std::vector<std::string> argv; ///< of this process, for provenance
};

/// A verb is one file: it declares its options on `command` and sets command.callback(...).
struct Verb {
  const char* summary;
  void (*add)(CLI::App& command, Outcome& outcome);
};

/// All verbs by name; one line each in verbs.cpp.
const registry<Verb>& verbs();

/// Writes to stdout and throws error::environment when that fails (closed pipe, full disk).
void print(std::string_view text);

} // namespace breakeven::cli
