#include "support/catch.hpp"
#include "support/sample_file.hpp"

#include "support/error.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace breakeven;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

struct Directory {
  fs::path path;
  Directory() {
    std::string name = (fs::temp_directory_path() / "breakeven-test-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Directory() { fs::remove_all(path); }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

} // namespace

TEST_CASE("writing replaces the file, keeps its mode and its link, and leaves nothing else") {
  const Directory directory;
  const fs::path file = directory.path / "be.json";
  profile::write_file(test::sample_file(), file);
  CHECK(directory.entries() == 1);
  ::chmod(file.c_str(), 0600);
  fs::create_symlink("be.json", directory.path / "link.json");
  profile::BreakEvenFile changed = test::sample_file();
  changed.model.name = "other";
  profile::write_file(changed, directory.path / "link.json");
  CHECK(fs::is_symlink(directory.path / "link.json"));
  CHECK(profile::read_file(file).model.name == "other");
  CHECK((fs::status(file).permissions() & fs::perms::mask) == static_cast<fs::perms>(0600));
  CHECK(directory.entries() == 2);
}

TEST_CASE("places that cannot be written are named before a run starts") {
  const Directory directory;
  CHECK_THROWS_WITH(profile::require_writable(directory.path / "none" / "be.json"),
                    Contains("does not exist"));
  CHECK_THROWS_AS(profile::require_writable(directory.path), error);
  CHECK_THROWS_AS(profile::require_writable(""), error);
  CHECK_NOTHROW(profile::require_writable(directory.path / "be.json"));
  CHECK_NOTHROW(profile::require_writable("/dev/null"));
  CHECK(directory.entries() == 0);
  std::ofstream(directory.path / "plain") << "x";
  CHECK_THROWS_AS(profile::require_writable(directory.path / "plain" / "be.json"), error);
}

TEST_CASE("a refused write leaves the old file byte-identical") {
  const Directory directory;
  const fs::path file = directory.path / "be.json";
  std::ofstream(file) << "old";
  profile::BreakEvenFile broken = test::sample_file();
  broken.tool.duration_s = 1.0 / 0.0;
  CHECK_THROWS_AS(profile::write_file(broken, file), error);
  CHECK(text_of(file) == "old");
  CHECK(directory.entries() == 1);
}

TEST_CASE("a full file system loses nothing") {
  const Directory directory;
  // Needs the right to mount; where it is missing, /dev/full below still shows ENOSPC.
  if (::mount("none", directory.path.c_str(), "tmpfs", 0, "size=16k") == 0) {
    const fs::path file = directory.path / "be.json";
    std::ofstream(file) << "old";
    profile::BreakEvenFile large = test::sample_file();
    large.tiers[0].sweep.resize(2000, large.tiers[0].sweep[0]);
    try {
      profile::write_file(large, file);
      FAIL("wrote a large file into 16 KiB");
    } catch (const error& failure) {
      CHECK(failure.kind() == error_kind::environment);
      CHECK_THAT(failure.what(), Contains("No space left") && Contains("-o"));
    }
    CHECK(text_of(file) == "old");
    CHECK(directory.entries() == 1);
    ::umount(directory.path.c_str());
  }
  CHECK_THROWS_WITH(profile::write_file(test::sample_file(), "/dev/full"),
                    Contains("No space left"));
}

TEST_CASE("files that cannot be read are bad input") {
  const Directory directory;
  for (const fs::path& path : {directory.path / "missing.json", directory.path}) {
    try {
      profile::read_file(path);
      FAIL("read " << path);
    } catch (const error& failure) {
      CHECK(failure.kind() == error_kind::bad_input);
    }
  }
}
