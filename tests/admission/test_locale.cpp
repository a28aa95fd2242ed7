#include "support/catch.hpp"

#include "admission/sample.hpp"

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <locale.h>
#include <locale>
#include <thread>

#if defined(__SANITIZE_ADDRESS__)
// glibc keeps what it parsed of LOCPATH each time a locale is looked up.
extern "C" const char* __lsan_default_suppressions() { return "leak:argz_add_sep\n"; }
#endif

using namespace breakeven;
using namespace sample;

namespace {

/// Decimal comma and grouped thousands for C++ streams, whether or not a locale is installed.
class German : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// Name of an installed locale with a decimal comma; builds one where none is. "" = impossible.
std::string comma_locale() {
  const auto has_comma = [](const char* name) {
    locale_t candidate = newlocale(LC_ALL_MASK, name, nullptr);
    if (candidate == nullptr) return false;
    const locale_t before = uselocale(candidate);
    const bool comma = std::string(localeconv()->decimal_point) == ",";
    uselocale(before);
    freelocale(candidate);
    return comma;
  };
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"})
    if (has_comma(name)) return name;
  static const std::filesystem::path folder = [] {
    char name[] = "/tmp/breakeven-locale-XXXXXX";
    return std::filesystem::path(mkdtemp(name) != nullptr ? name : "");
  }();
  static const struct Cleaner {
    ~Cleaner() { std::filesystem::remove_all(folder); }
  } cleaner;
  setenv("LOCPATH", folder.c_str(), 1);
  const std::string command =
      "localedef -i de_DE -f UTF-8 " + (folder / "de_DE.UTF-8").string() + " >/dev/null 2>&1";
  if (std::system(command.c_str()) == 0 && has_comma("de_DE.UTF-8"))
    return "de_DE.UTF-8";
  unsetenv("LOCPATH");
  return "";
}

/// What the library reads and writes with numbers in it.
std::string answers() {
  const PolicyFile file = parse_policy(to_json(plain()));
  const Decision decision = decide(*file.policy, {Tokens(9000), TierId(0), Tokens(8192)});
  std::string result;
  for (const double value : {decision.load_s, decision.recompute_s, decision.margin_s}) {
    char text[64];
    std::snprintf(text, sizeof text, "%a", value);
    for (char& c : text)
      if (c == ',') c = '.'; // printf's own locale is not what is tested
    result += text;
  }
  std::string broken = to_json(plain());
  broken.replace(broken.find("\"chunk_tokens\":2048"), 19, "\"chunk_tokens\":20.5");
  std::string message;
  try {
    parse_policy(broken);
  } catch (const policy_file_error& error) {
    message = error.what();
  }
  nlohmann::json limits = nlohmann::json::parse(to_json(plain()));
  limits["prefill"]["attention"][0]["seconds"] = nlohmann::json::array();
  try {
    parse_policy(limits.dump());
  } catch (const policy_file_error& error) {
    message += error.what();
  }
  return result + message;
}

} // namespace

TEST_CASE("numbers are read and printed the same under any locale") {
  const std::string expected = answers();

  const std::locale before = std::locale::global(std::locale(std::locale(), new German));
  CHECK(answers() == expected);
  std::locale::global(before);

  const std::string name = comma_locale();
  if (name.empty()) {
    WARN("no locale with a decimal comma is installed and localedef cannot build one: only C++ "
         "streams were tested (install the package 'locales')");
    return;
  }
  SECTION("process-wide") {
    REQUIRE(std::setlocale(LC_ALL, name.c_str()) != nullptr);
    const std::string result = answers();
    std::setlocale(LC_ALL, "C");
    CHECK(result == expected);
  }
  SECTION("of one thread") {
    std::string result;
    std::thread([&] {
      locale_t german = newlocale(LC_ALL_MASK, name.c_str(), nullptr);
      const locale_t usual = uselocale(german);
      result = answers();
      uselocale(usual);
      freelocale(german);
    }).join();
    CHECK(result == expected);
  }
}
