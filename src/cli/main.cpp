#include "cli/verb.hpp"

#include "support/error.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

namespace {

int report(const char* message, int exit_code) {
  fmt::print(stderr, "breakeven: {}\n", message);
  return exit_code;
}

int run(int argc, char** argv) {
  CLI::App app("Measures when loading a stored KV cache beats computing it again.", "breakeven");
  app.set_version_flag("--version", BREAKEVEN_VERSION_TEXT);
  app.require_subcommand(1);
  breakeven::cli::Outcome outcome;
  outcome.argv.assign(argv, argv + argc);
  // CLI11 would call a mistyped verb a missing one.
  if (argc > 1 && argv[1][0] != '-') static_cast<void>(breakeven::cli::verbs().at(argv[1]));
  for (const auto& [name, verb] : breakeven::cli::verbs().rows())
    verb.add(*app.add_subcommand(name, verb.summary), outcome);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& parse_error) {
    if (parse_error.get_exit_code() == 0) return app.exit(parse_error); // --help, --version
    const std::string message = fmt::format("{}; --help shows the arguments", parse_error.what());
    return report(message.c_str(), static_cast<int>(breakeven::error_kind::usage));
  }
  return outcome.exit_code;
}

} // namespace

int main(int argc, char** argv) {
  // A closed pipe is an error value of write(), not the silent death of the process.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const breakeven::error& failure) {
    return report(failure.what(), failure.exit_code());
  } catch (const std::bad_alloc&) {
    return report("out of memory: free some, or ask for a shorter --max-prefix",
                  static_cast<int>(breakeven::error_kind::environment));
  } catch (const std::exception& failure) {
    return report(failure.what(), static_cast<int>(breakeven::error_kind::environment));
  }
}
