#include "support/catch.hpp"

#include "cli/command.hpp"
#include "cli/verb.hpp"

using namespace breakeven::test;

TEST_CASE("the README's connector is the one that the consumers build") {
  const Sandbox box;
  const std::string readme = box.read(BREAKEVEN_SOURCE_DIR "/README.md");
  const std::string example = box.read(BREAKEVEN_SOURCE_DIR "/docs/example_connector.cpp");
  REQUIRE(!example.empty());
  CHECK(readme.find("```cpp\n" + example + "```") != std::string::npos);
}

TEST_CASE("every verb of the tool is in the README") {
  const Sandbox box;
  const std::string readme = box.read(BREAKEVEN_SOURCE_DIR "/README.md");
  const std::string help = box.run("breakeven --help").out;
  for (const std::string& verb : breakeven::cli::verbs().names()) {
    CHECK(help.find(verb) != std::string::npos);
    CHECK(readme.find("| `" + verb + "` |") != std::string::npos);
  }
}
