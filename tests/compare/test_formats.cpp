#include "support/catch.hpp"

#include "compare/formats.hpp"
#include "noisy.hpp"

#include <nlohmann/json.hpp>

#include <regex>

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;

namespace {

/// Everything that a terminal, a page or a CI runner might act on.
const char* const hostile =
    "x\x1b[2J\x07|`</testcase><script>alert(1)</script>\n::error::pwned\r\n##[error]pwned "
    "@someone http://evil.example *a* [b](c) \xc2\x9b"
    "31m %0A::warning::x \xEF\xBF\xBF ]]> &amp; \"'";

profile::BreakEvenFile hostile_file(double factor) {
  profile::BreakEvenFile file = measured_in({.seed = 5, .compute = factor, .load = factor});
  file.model.name = file.prefill.device_name = file.node.kernel = hostile;
  file.prefill.attention[0].layer_kind = hostile;
  file.tool.started_utc = hostile;
  file.tiers[0].name = file.tiers[0].spec = hostile;
  file.tiers[0].identity = {{hostile, factor > 1 ? hostile : "y"}};
  return file;
}

std::string print(const std::string& format, const profile::BreakEvenFile& a,
                  const profile::BreakEvenFile& b) {
  const compare::Input base = input(a, hostile), next = input(b, "new.json");
  const compare::Options options;
  const compare::Comparison comparison = compare::compare(base, next, options);
  return compare::formats().at(format).print(
      {base, next, options, comparison, compare::failure(comparison, compare::FailOn::regressed),
       true});
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result = split(text, '\n');
  return result;
}

} // namespace

TEST_CASE("no format passes terminal escapes or commands of a CI runner on") {
  for (const auto& [name, format] : compare::formats().rows()) {
    INFO(name);
    for (const double factor : {1.0, 3.0}) {
      const std::string text = print(name, hostile_file(1), hostile_file(factor));
      for (const char c : text)
        REQUIRE((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
      CHECK(text.find("\xc2\x9b") == std::string::npos);
      CHECK(text.find("##[") == std::string::npos);
      for (const std::string& line : lines(text)) {
        const std::string start = line.substr(std::min(line.size(), line.find_first_not_of(' ')));
        if (name != "github") CHECK(start.rfind("::", 0) == std::string::npos);
      }
    }
  }
}

TEST_CASE("every line of the github format is one annotation of ours") {
  const std::string text = print("github", hostile_file(1), hostile_file(3));
  const std::regex annotation("::(error|warning|notice) title=[^:,]*::[^\n]*");
  for (const std::string& line : lines(text))
    if (!line.empty()) CHECK(std::regex_match(line, annotation));
  CHECK_THAT(text, Contains("::error title=") && Contains("slower"));
  CHECK(text.find("%0A") == std::string::npos); // a '%' of the file is data
  CHECK_THAT(text, Contains("%250A"));
}

TEST_CASE("annotations stay below what the service shows") {
  const std::string text =
      print("github", measured_in({.seed = 5}), measured_in({.seed = 6, .compute = 3, .load = 3}));
  std::size_t errors = 0;
  for (const std::string& line : lines(text))
    if (line.rfind("::error", 0) == 0) ++errors;
  CHECK(errors > 0);
  CHECK(errors <= 10);
}

TEST_CASE("markdown keeps strings of files inside code spans") {
  const std::string text = print("markdown", hostile_file(1), hostile_file(3));
  for (const std::string& line : lines(text)) {
    INFO(line);
    std::string outside;
    bool inside = false;
    for (const char c : line)
      if (c == '`')
        inside = !inside;
      else if (!inside)
        outside += c;
    CHECK_FALSE(inside);
    CHECK(outside.find("script") == std::string::npos);
    CHECK(outside.find("evil") == std::string::npos);
    CHECK(outside.find('@') == std::string::npos);
    if (line.rfind("| `", 0) == 0) CHECK(std::count(line.begin(), line.end(), '|') == 7);
  }
}

TEST_CASE("json holds verdicts, both sides and why") {
  using json = nlohmann::json;
  const json document =
      json::parse(print("json", measured_in({.seed = 5}), measured_in({.seed = 6, .load = 2})));
  CHECK(document["comparable"] == true);
  CHECK(document["overall"] == "regressed");
  CHECK(document["fails"] == true);
  bool seen = false;
  for (const json& q : document["quantities"])
    if (q["name"] == "bandwidth") {
      seen = true;
      CHECK(q["verdict"] == "slower");
      CHECK(q["unit"] == "B/s");
      CHECK(q["base"]["value"] == Approx(1e9));
      CHECK(q["ratio"].get<double>() == Approx(0.5));
      CHECK(q["p"].get<double>() < 0.05);
    }
  CHECK(seen);
  CHECK(json::parse(print("json", hostile_file(1), hostile_file(3)))["base"]["model"] == hostile);
}

TEST_CASE("text names what is slower and by how much") {
  const std::string text =
      print("text", measured_in({.seed = 5}), measured_in({.seed = 6, .load = 2}));
  CHECK_THAT(text, Contains("comparable: yes") && Contains("tier disk") && Contains("-50.0 %") &&
                       Contains("regressed:") && Contains("fails:"));
}
