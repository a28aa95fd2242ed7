#include "support/catch.hpp"

#include "cli/command.hpp"
#include "cli/plot.hpp"
#include "fit/fit.hpp"
#include "report/report.hpp"
#include "support/sample_file.hpp"

#include <algorithm>

using namespace breakeven;
using namespace breakeven::test;

namespace {

profile::BreakEvenFile solved() {
  profile::BreakEvenFile file = sample_file();
  fit::solve(file, {});
  return file;
}

void put(const Sandbox& box, const std::string& name, const profile::BreakEvenFile& file) {
  box.write(name, profile::to_json_text(file));
}

std::size_t width(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

} // namespace

TEST_CASE("report writes a page and a picture, and says so") {
  const Sandbox box;
  put(box, "a.json", solved());
  const Result result = box.run("breakeven report a.json -o r.html --svg r.svg --plot bandwidth");
  CHECK(result.exit_code == 0);
  CHECK(result.out == "written to r.svg\nwritten to r.html\n");
  CHECK(box.read("r.html").rfind("<!doctype html>", 0) == 0);
  CHECK(box.read("r.svg").find("Break-even bandwidth") != std::string::npos);
  CHECK(box.entries() == 3);
  CHECK(box.run("breakeven report a.json -o r.html --quiet").out.empty());
}

TEST_CASE("every page has a nonce of its own") {
  const Sandbox box;
  put(box, "a.json", solved());
  CHECK(box.run("breakeven report a.json -o r1.html && breakeven report a.json -o r2.html")
            .exit_code == 0);
  const std::string first = box.read("r1.html"), second = box.read("r2.html");
  const auto nonce = [](const std::string& text) { return text.substr(text.find("'nonce-"), 40); };
  CHECK(nonce(first) != nonce(second));
}

TEST_CASE("a plot becomes a PNG where rsvg-convert is installed") {
  const Sandbox box;
  put(box, "a.json", solved());
  if (box.run("rsvg-convert --version").exit_code != 0) {
    WARN("skipped: rsvg-convert is not installed");
    return;
  }
  const Result result = box.run("breakeven report a.json --png r.png");
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(box.read("r.png").rfind("\x89PNG\r\n", 0) == 0);
  CHECK(box.entries() == 2);
  CHECK(box.run("breakeven report a.json --png a.json").exit_code == 2);
  CHECK(box.run("breakeven report a.json --png no/such/r.png").exit_code == 4);
}

TEST_CASE("report refuses what it cannot do, in words") {
  const Sandbox box;
  put(box, "a.json", solved());
  CHECK(box.run("breakeven report a.json").exit_code == 2);
  CHECK(box.run("breakeven report none.json -o r.html").exit_code == 3);
  CHECK(box.run("breakeven report a.json -o no/such/r.html").exit_code == 4);
  const Result png = box.run("PATH=/nonexistent '" BREAKEVEN_BINARY "' report a.json --png r.png");
  CHECK(png.exit_code == 4);
  CHECK(png.err.find("librsvg2-bin") != std::string::npos);
  CHECK(box.entries() == 1);
  const Result plot = box.run("breakeven report a.json --svg r.svg --plot frontiers");
  CHECK(plot.exit_code == 2);
  CHECK(plot.err.find("frontier") != std::string::npos);
  const std::string before = box.read("a.json");
  CHECK(box.run("breakeven report a.json -o ./a.json").exit_code == 2);
  CHECK(box.read("a.json") == before);
}

TEST_CASE("show draws on request, and never into a pipe or JSON by itself") {
  const Sandbox box;
  put(box, "a.json", solved());
  const std::string plain = box.run("breakeven show a.json").out;
  CHECK(plain.find("a recompute") == std::string::npos);
  const std::string drawn = box.run("LC_ALL=C.UTF-8 breakeven show a.json --plot").out;
  CHECK(drawn.rfind(plain, 0) == 0);
  CHECK(drawn.find("  a recompute\n  b load from disk, X at ") != std::string::npos);
  CHECK(drawn.find("\u2502") != std::string::npos);
  CHECK(drawn.find('\x1b') == std::string::npos); // no terminal, no colours
  CHECK(box.run("breakeven show a.json --plot --quiet").out == plain);
  CHECK(box.run("breakeven show a.json --json --plot").out ==
        box.run("breakeven show a.json --json").out);
  const std::string ascii = box.run("LC_ALL=C breakeven show a.json --plot").out;
  CHECK(std::all_of(ascii.begin(), ascii.end(), [](char c) { return c >= 0; }));
}

TEST_CASE("the drawing keeps to its width, and X stands at the crossing") {
  const report::Plot plot = report::times_plot({{"", solved()}});
  for (const int columns : {40, 80, 133}) {
    cli::PlotStyle style;
    style.columns = columns;
    style.utf8 = columns != 80;
    const std::string text = cli::plot_text(plot, style);
    std::size_t row = 0, begin = 0, crossings = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      const std::string line = text.substr(begin, end - begin);
      if (row++ >= static_cast<std::size_t>(style.rows)) break;
      CHECK(width(line) <= static_cast<std::size_t>(columns));
      const std::size_t at = line.find('X');
      if (at == std::string::npos) continue;
      ++crossings;
      const double share =
          (static_cast<double>(width(line.substr(0, at))) - 10 + 0.5) / (columns - 13);
      CHECK(share == Approx(plot.x.position(plot.marks.at(0).x)).margin(1.0 / (columns - 13)));
    }
    CHECK(crossings == 1);
  }
}

TEST_CASE("names in the drawing cannot drive the terminal") {
  profile::BreakEvenFile file = solved();
  file.tiers[0].name = "\x1b]0;owned\x07\x1b[2J";
  cli::PlotStyle style;
  style.color = false;
  CHECK(cli::plot_text(report::times_plot({{"", file}}), style).find('\x1b') == std::string::npos);
}
