#include "support/catch.hpp"

#include "cli/command.hpp"

#include <algorithm>

using namespace breakeven::test;
using Catch::Matchers::Contains;

namespace {

/// A refusal is one line on stderr that names the cause, and nothing on stdout.
void check_refused(const Result& result, int exit_code, const std::string& cause) {
  INFO(result.err);
  CHECK(result.exit_code == exit_code);
  CHECK_THAT(result.err, Contains(cause));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK(result.out.empty());
}

} // namespace

TEST_CASE("wrong arguments are usage errors with one line") {
  const Sandbox box;
  const auto refused = [&](const std::string& arguments, const std::string& cause) {
    INFO(arguments);
    check_refused(box.run("breakeven " + arguments), 2, cause);
  };
  refused("calibrat", "did you mean 'calibrate'");
  refused("calibrate --no-such-option", "--no-such-option");
  refused("calibrate --max-prefix -5", "--max-prefix");
  refused("calibrate --max-prefix 99999999999999999999", "--max-prefix");
  refused("calibrate --max-prefix 1e300", "--max-prefix");
  refused("calibrate --budget 0", "--budget");
  refused("calibrate --budget nan", "--budget");
  refused("calibrate --chunk-tokens 64k", "--chunk-tokens");
  refused("calibrate --threads -1", "--threads");
  refused("calibrate --threads 1.5", "--threads");
  refused("calibrate --model lama-3.2-1b", "did you mean 'llama-3.2-1b'");
  refused("calibrate --tier tape", "unknown tier");
  refused("calibrate --tier memory --tier memory", "twice");
  refused("calibrate --device tpu", "tpu");
  CHECK(box.entries() == 0);
}

TEST_CASE("help and version go to stdout") {
  const Sandbox box;
  CHECK(box.run("breakeven --version").exit_code == 0);
  const Result help = box.run("breakeven --help");
  CHECK(help.exit_code == 0);
  CHECK_THAT(help.out, Contains("calibrate") && Contains("show") && Contains("check"));
  CHECK_THAT(box.run("breakeven calibrate --help").out, Contains("--max-prefix"));
}

TEST_CASE("calibrate --list says what is here, and why not") {
  const Sandbox box;
  const Result list = box.run("breakeven calibrate --list");
  CHECK(list.exit_code == 0);
  CHECK_THAT(list.out, Contains("cpu: available") && Contains("memory") && Contains("file") &&
                           Contains("llama-3.2-1b"));
}

TEST_CASE("places that cannot be written are refused before anything is measured") {
  const Sandbox box;
  check_refused(box.run("breakeven calibrate -o none/be.json"), 4, "does not exist");
  check_refused(box.run("breakeven calibrate -o ."), 4, "directory");
}

TEST_CASE("model files that do not determine the answer are bad input") {
  const Sandbox box;
  box.write("truncated.json", R"({"model_type": "llama", "hidden_size": )");
  check_refused(box.run("breakeven calibrate --dry-run --model truncated.json"), 3,
                "truncated.json");
  box.write("other.json", R"({"model_type": "perceptron"})");
  check_refused(box.run("breakeven calibrate --dry-run --model other.json"), 3, "perceptron");
}

TEST_CASE("a plan is printed and nothing is touched") {
  const Sandbox box;
  const Result plan = box.run("breakeven calibrate --dry-run");
  CHECK(plan.exit_code == 0);
  CHECK_THAT(plan.out, Contains("llama-3.2-1b") && Contains("memory") && Contains("file:") &&
                           Contains("scratch"));
  CHECK(box.entries() == 0);
}

TEST_CASE("a reader that hangs up is an error, not a crash") {
  const Sandbox box;
  const Result result = box.run("set -o pipefail; breakeven calibrate --list | true");
  CHECK((result.exit_code == 4 || result.exit_code == 0));
  check_refused(box.run("{ breakeven calibrate --list > /dev/full; }"), 4, "standard output");
}
