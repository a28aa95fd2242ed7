#include "support/catch.hpp"

#include "doctor/doctor.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <unistd.h>

using namespace breakeven;
using namespace breakeven::doctor;

TEST_CASE("this machine can be looked at, whatever it is") {
  const std::vector<Finding> findings = examine(look_here({}));
  CHECK(findings.size() >= checks().rows().size());
  CHECK_FALSE(anything_missing(findings)); // nothing was asked for
}

TEST_CASE("a directory that is not there is missing only when it was asked for") {
  const std::vector<Finding> findings = examine(look_here({"", {"file:/no/such/place"}}));
  CHECK(anything_missing(findings));
  CHECK(findings.front().name == "directory /no/such/place");
}

TEST_CASE("devices and tiers that do not exist are usage errors") {
  CHECK_THROWS_AS(look_here({"tpu", {}}), error);
  CHECK_THROWS_AS(look_here({"", {"tape:/dev/nst0"}}), error);
}

TEST_CASE("looking leaves nothing behind in the directory") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("breakeven_doctor_" + std::to_string(getpid()));
  std::filesystem::create_directory(path);
  static_cast<void>(examine(look_here({"", {"file:" + path.string()}})));
  CHECK(std::filesystem::is_empty(path));
  std::filesystem::remove_all(path);
}
