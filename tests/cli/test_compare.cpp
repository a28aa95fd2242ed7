#include "support/catch.hpp"
#include "support/sample_file.hpp"

#include "cli/command.hpp"
#include "profile/profile.hpp"

#include <nlohmann/json.hpp>

using namespace breakeven;
using namespace breakeven::test;
using Catch::Matchers::Contains;
using json = nlohmann::json;

namespace {

/// base.json, the same again, and one whose recompute and loads take twice as long.
struct WithFiles : Sandbox {
  WithFiles() {
    profile::BreakEvenFile file = sample_file();
    write("base.json", profile::to_json_text(file));
    write("again.json", profile::to_json_text(file));
    const auto twice = [](profile::Measurement& m) {
      m.median_s *= 2;
      m.lo_s *= 2;
      m.hi_s *= 2;
      for (double& sample : m.samples_s)
        sample *= 2;
    };
    for (profile::Measurement& m : file.prefill.dense.seconds)
      twice(m);
    for (profile::SweepPoint& point : file.tiers[0].sweep)
      twice(point.seconds);
    file.tiers[0].load->bandwidth = {{1, {0.5e9, 0.45e9, 0.55e9}}, {2, {0.25e9, 0.22e9, 0.28e9}}};
    write("slow.json", profile::to_json_text(file));
  }
};

} // namespace

TEST_CASE("compare exits by what --fail-on names") {
  const WithFiles box;
  const auto exit_code = [&](const std::string& arguments) {
    return box.run("breakeven compare " + arguments).exit_code;
  };
  CHECK(exit_code("base.json again.json") == 0);
  CHECK(exit_code("base.json again.json --fail-on changed") == 0);
  CHECK(exit_code("base.json again.json --fail-on inconclusive") == 0);
  CHECK(exit_code("base.json slow.json") == 1);
  CHECK(exit_code("slow.json base.json") == 0);
  CHECK(exit_code("slow.json base.json --fail-on changed") == 1);
  CHECK(exit_code("base.json slow.json --threshold 99.9%") == 1); // twice is +100 %
}

TEST_CASE("compare refuses wrong usage with 2 and bad files with 3, by name") {
  const WithFiles box;
  box.write("cut.json", box.read("base.json").substr(0, 500));
  std::string other = box.read("base.json");
  other.replace(other.find(breakeven::profile::schema_version), 5, "2.0.0");
  box.write("major.json", other);
  for (const char* arguments :
       {"base.json", "base.json slow.json --fail-on never", "base.json slow.json --threshold -1%",
        "base.json slow.json --threshold nan%", "base.json slow.json --threshold three",
        "base.json slow.json --threshold 100%", "base.json slow.json --format yaml"}) {
    INFO(arguments);
    CHECK(box.run(std::string("breakeven compare ") + arguments).exit_code == 2);
  }
  for (const char* name : {"cut.json", "major.json", "missing.json"}) {
    const Result result = box.run(std::string("breakeven compare base.json ") + name);
    CHECK(result.exit_code == 3);
    CHECK_THAT(result.err, Contains(name));
  }
  CHECK_THAT(box.run("breakeven compare base.json major.json").err, Contains("2.0.0"));
}

TEST_CASE("files of different minor versions compare, and the versions are named") {
  const WithFiles box;
  std::string newer = box.read("base.json");
  newer.replace(newer.find(breakeven::profile::schema_version), 5, "1.7.0");
  newer.insert(newer.find("\"status\""), "\"a_later_key\": {\"schema\": 1}, ");
  box.write("newer.json", newer);
  const Result result = box.run("breakeven compare base.json newer.json --json");
  CHECK(result.exit_code == 0);
  const json document = json::parse(result.out);
  CHECK(document["overall"] == "same");
  CHECK(document["new"]["schema"] == "1.7.0");
  CHECK(document["differences"][0]["what"] == "schema");
}

TEST_CASE("junit is well-formed for any strings, and counts what it holds") {
  const WithFiles box;
  profile::BreakEvenFile file = sample_file();
  file.model.name = file.tiers[0].name = "<a b=\"]]>&'\x1b[2J\xEF\xBF\xBE\xEF\xBF\xBF\xC2\x9B\">";
  box.write("hostile.json", profile::to_json_text(file));
  box.write("check.py", "import sys, xml.etree.ElementTree as tree\n"
                        "suite = tree.parse(sys.argv[1]).getroot()[0]\n"
                        "cases = suite.findall('testcase')\n"
                        "count = lambda tag: sum(c.find(tag) is not None for c in cases)\n"
                        "assert int(suite.get('tests')) == len(cases) > 3\n"
                        "assert int(suite.get('failures')) == count('failure')\n"
                        "assert int(suite.get('skipped')) == count('skipped')\n"
                        "print(count('failure'))\n");
  const auto failures = [&](const std::string& next) {
    const Result result =
        box.run("breakeven compare base.json " + next +
                " --format junit >out.xml; '" BREAKEVEN_PYTHON "' check.py out.xml");
    INFO(result.err);
    CHECK(result.exit_code == 0);
    return result.out;
  };
  CHECK(failures("again.json") == "0\n");
  CHECK(failures("slow.json") != "0\n");
  CHECK(failures("hostile.json") != "0\n"); // another model, and a tier is lost
}
