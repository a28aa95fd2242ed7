#include "support/catch.hpp"

#include "fit/fit.hpp"
#include "report/report.hpp"
#include "support/sample_file.hpp"

#include <nlohmann/json.hpp>

using namespace breakeven;
using namespace breakeven::report;

namespace {

const std::string hostile = "</script><script>window.pwned=1</script><img src=x "
                            "onerror=window.pwned=1>\"'&\x1b[31m\xff";

profile::BreakEvenFile poisoned() {
  profile::BreakEvenFile file = test::sample_file();
  fit::solve(file, {});
  file.model.name = file.model.family = file.model.source = file.model.kv_dtype = hostile;
  file.model.layer_kinds = {{hostile, 2}};
  file.model.overrides = file.model.assumptions = {hostile};
  file.tool = {hostile, hostile, {hostile, hostile}, hostile, 1};
  file.node.cpu_model = file.node.os = file.node.kernel = file.node.fingerprint = hostile;
  file.node.libraries = {{hostile, hostile}};
  file.prefill.device_name = file.prefill.kernel_source = file.prefill.regime = hostile;
  profile::Tier& tier = file.tiers[0];
  tier.name = tier.spec = tier.kind = tier.layout.name = hostile;
  tier.identity = {{hostile, hostile}};
  for (profile::LengthAnswer& answer : file.lengths)
    answer.tiers[0].tier = hostile;
  for (profile::FrontierPoint& point : file.frontier)
    point.tier = hostile;
  profile::Tier broken = tier;
  broken.name = hostile + "2";
  broken.load.reset();
  broken.status = "uncalibrated";
  broken.reason = broken.break_even.reason = hostile;
  broken.break_even.verdict = profile::Verdict::uncalibrated;
  file.tiers.push_back(broken);
  file.warnings = {{hostile, hostile}};
  return file;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++found;
  return found;
}

} // namespace

TEST_CASE("strings of a file stay text on the page") {
  const std::string text = page({{hostile, poisoned()}, {"b", poisoned()}}, "n0");
  // Its own three scripts and no other; nothing that opens a tag or leaves an attribute.
  CHECK(count(text, "<script") == 3);
  CHECK(count(text, "</script") == 3);
  CHECK(text.find("<img") == std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\xff') == std::string::npos);
  CHECK(text.find("&lt;img src=x") != std::string::npos);
}

TEST_CASE("strings of a file stay text in a picture") {
  for (const Plot& plot : plots({{"a", poisoned()}})) {
    const std::string text = svg(plot);
    CHECK(text.find("<img") == std::string::npos);
    CHECK(text.find("<script") == std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("the data of the page is JSON without markup") {
  const std::vector<Input> inputs = {{hostile, poisoned()}};
  const std::string text = data_json(inputs, plots(inputs));
  CHECK(text.find_first_of("<>&") == std::string::npos);
  CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 127; }));
  const nlohmann::json data = nlohmann::json::parse(text);
  CHECK(data.at("plots").at(0).at("id") == "times");
  const std::string label = data.at("files").at(0).at("label");
  CHECK(label.find("<script>") != std::string::npos); // the page sets it as text
}

TEST_CASE("a page loads nothing from elsewhere and stays small") {
  profile::BreakEvenFile file = test::sample_file();
  fit::solve(file, {});
  for (int i = 0; i < 7; ++i) {
    file.tiers.push_back(file.tiers[0]);
    file.tiers.back().name += std::to_string(i);
  }
  fit::solve(file, {});
  std::vector<Input> inputs;
  for (int i = 0; i < 16; ++i)
    inputs.push_back({"file " + std::to_string(i), file});
  const std::string text = page(inputs, "n0");
  CHECK(text.size() < 2'000'000);
  for (const char* loads : {" src=", "<link", "@import", "url(http", "fetch(", "XMLHttpRequest"})
    CHECK(text.find(loads) == std::string::npos);
  CHECK(text.find("default-src 'none'") != std::string::npos);
  CHECK(text.find("Released under the MIT License") != std::string::npos);
}

TEST_CASE("tables hold every value, so that no plot is needed to read them") {
  profile::BreakEvenFile file = test::sample_file();
  fit::solve(file, {});
  const std::string text = page({{"a", file}}, "n0");
  CHECK(text.find("<th scope=\"row\">16,384</th>") != std::string::npos);
  CHECK(text.find("<th scope=\"col\">load from disk</th>") != std::string::npos);
  CHECK(text.find(break_even_text(file.tiers[0].break_even, 16384)) != std::string::npos);
  CHECK(text.find("numbers are made up") != std::string::npos);
  CHECK(text.find("0123456789abcdef") != std::string::npos);
  CHECK(count(text, "<details>") == 5); // a table for each plot
}

TEST_CASE("long facts are not cut") {
  profile::BreakEvenFile file = test::sample_file();
  file.tiers[0].identity = {{"drive", std::string(900, 'd')}};
  CHECK(page({{"a", file}}, "n0").find(std::string(900, 'd')) != std::string::npos);
}
