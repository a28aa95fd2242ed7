#include "support/catch.hpp"

#include "faults.hpp"
#include "support/error.hpp"
#include "tier_fixture.hpp"

#include <fstream>

using namespace breakeven;
using namespace breakeven::tier;
using Catch::Matchers::Contains;

namespace {

struct Prepared {
  explicit Prepared(const TestDirectory& directory, const std::string& keys = "",
                    bool visible = true)
      : device(8 * mib, visible),
        tier(create(parse_tier_spec(directory.spec(keys)), small_options(8 * mib), device)) {}
  HostBuffer device;
  std::unique_ptr<Tier> tier;
};

/// The sentence with which preparing fails; its kind must be "environment": exit code 4.
std::string refusal(Tier& tier) {
  try {
    tier.prepare();
  } catch (const error& failure) {
    CHECK(failure.kind() == error_kind::environment);
    return failure.what();
  }
  return "prepared";
}

} // namespace

TEST_CASE("O_DIRECT refused: a labelled fall-back, or an error when it was insisted on") {
  const TestDirectory directory;
  Faults faults;
  faults.refuse_direct = EINVAL;
  const ScopedSystemCalls scope(faults);
  Prepared automatic(directory);
  automatic.tier->prepare();
  CHECK_THAT(joined(automatic.tier->warnings()), Contains("O_DIRECT is refused in"));
  CHECK(automatic.tier->identity().at("page_cache") == "dropped before each load");
  CHECK(automatic.tier->load({4 * mib, 4, 1})->run().seconds > 0);
  Prepared insisting(directory, ",o_direct=on");
  CHECK_THAT(refusal(*insisting.tier), Contains("O_DIRECT is refused in"));
}

TEST_CASE("a memory file system is never a disk") {
  const TestDirectory directory;
  Faults faults;
  faults.claim_tmpfs = true;
  const ScopedSystemCalls scope(faults);
  Prepared p(directory);
  p.tier->prepare();
  CHECK_THAT(p.tier->disqualified(), Contains("lives in memory"));
  CHECK_THROWS_WITH(p.tier->load({mib, 1, 1}), Contains("lives in memory"));
  if (access("/dev/shm", W_OK) == 0) { // the real thing, where there is one
    SystemCalls plain;
    const ScopedSystemCalls real(plain);
    HostBuffer device(8 * mib);
    const auto shm = create(parse_tier_spec("file:/dev/shm"), small_options(8 * mib), device);
    shm->prepare();
    CHECK_FALSE(shm->disqualified().empty());
  }
}

TEST_CASE("a full disk or quota is a sentence, before and midway, and leaves nothing") {
  const TestDirectory directory;
  Faults faults;
  const ScopedSystemCalls scope(faults);
  SECTION("seen in advance") {
    faults.free = 5 << 20;
    Prepared p(directory);
    CHECK_THAT(refusal(*p.tier), Contains("5.00 MiB free") && Contains("scratch space"));
  }
  SECTION("no space midway") {
    faults.write_error = ENOSPC;
    faults.good_writes = 5;
    Prepared p(directory);
    CHECK_THAT(refusal(*p.tier), Contains("the file system is full"));
  }
  SECTION("quota midway") {
    faults.write_error = EDQUOT;
    faults.good_writes = 3;
    Prepared p(directory);
    CHECK_THAT(refusal(*p.tier), Contains("quota is used up"));
  }
  SECTION("no space at preallocation") {
    faults.no_preallocation = ENOSPC;
    Prepared p(directory);
    CHECK_THAT(refusal(*p.tier), Contains("the file system is full"));
  }
  SECTION("a drive that cannot sync") {
    faults.sync_error = EIO;
    Prepared p(directory);
    CHECK_THAT(refusal(*p.tier), Contains("writing scratch files to"));
  }
  CHECK(directory.names().empty());
}

TEST_CASE("a read error at the nth request is a sentence and never a time") {
  const TestDirectory directory;
  const int no_uring = GENERATE(0, ENOSYS);
  const bool visible = GENERATE(true, false);
  const int nth = GENERATE(0, 3, 6);
  CAPTURE(no_uring, visible, nth);
  Faults faults;
  faults.no_uring = no_uring;
  const ScopedSystemCalls scope(faults);
  Prepared p(directory, "", visible);
  p.tier->prepare();
  const bool threads = p.tier->identity().at("reads") == "pread threads";
  if (no_uring != 0) CHECK(threads);
  const auto load = p.tier->load({8 * mib, 8, 1});
  CHECK(load->run().seconds > 0);
  faults.reads = 0;
  faults.good_reads = nth;
  faults.read_error = EIO;
  CHECK_THROWS_WITH(load->run(), Contains("Input/output error"));
  faults.reads = 0;
  faults.read_error = ESTALE;
  CHECK_THROWS_WITH(load->run(), Contains("no longer knows the file (ESTALE)"));
  faults.read_error = 0;
  faults.end_of_file = true;
  faults.reads = 0;
  CHECK_THROWS_WITH(load->run(), Contains("a file of the store ends at byte"));
  faults.end_of_file = false;
  faults.short_reads = 5; // the rest is asked for again, and all of it arrives
  faults.reads = 0;
  CHECK(load->run().seconds > 0);
  faults.good_reads = 1 << 30; // a drive that recovers serves again
  CHECK(load->run().seconds > 0);
}

TEST_CASE("io_uring that is not permitted: its cause is named, threads replace it") {
  const TestDirectory directory;
  Faults faults;
  faults.no_uring = GENERATE(EPERM, ENOSYS, ENOMEM);
  const ScopedSystemCalls scope(faults);
  Prepared p(directory);
  p.tier->prepare();
  const char* cause = faults.no_uring == EPERM    ? "io_uring"
                      : faults.no_uring == ENOSYS ? "this kernel has no io_uring"
                                                  : "RLIMIT_MEMLOCK";
  CHECK_THAT(joined(p.tier->warnings()), Contains(cause) && Contains("threads that call pread()"));
  CHECK(p.tier->load({8 * mib, 64, 1})->run().seconds > 0);
  CHECK(p.tier->ideal_load({8 * mib, 64, 1})->run().seconds > 0);
}

TEST_CASE("no room for registered buffers: unregistered ones, with need and limit") {
  const TestDirectory directory;
  Faults faults;
  faults.no_registration = ENOMEM;
  const ScopedSystemCalls scope(faults);
  Prepared p(directory);
  p.tier->prepare();
  if (p.tier->identity().at("reads") == "pread threads") return; // a build or kernel without
  CHECK_THAT(joined(p.tier->warnings()),
             Contains("could not be registered") && Contains("RLIMIT_MEMLOCK is"));
  CHECK(p.tier->identity().at("buffers") == "not registered");
  CHECK(p.tier->ideal_load({8 * mib, 64, 1})->run().seconds > 0);
}

TEST_CASE("a directory that cannot be used is a sentence that says why") {
  HostBuffer device(8 * mib);
  const auto refused = [&](const std::string& path) {
    const auto tier = create(parse_tier_spec("file:" + path), small_options(8 * mib), device);
    return refusal(*tier);
  };
  const TestDirectory directory;
  CHECK_THAT(refused(directory.path() + "/none"), Contains("does not exist"));
  std::ofstream(directory.path() + "/file") << "x";
  CHECK_THAT(refused(directory.path() + "/file"), Contains("is not a directory"));
  Faults faults;
  const ScopedSystemCalls scope(faults);
  faults.refuse_temporary = EROFS;
  CHECK_THAT(refused(directory.path()), Contains("mounted read-only"));
  faults.refuse_temporary = EACCES;
  CHECK_THAT(refused(directory.path()), Contains("permission denied"));
  faults.refuse_temporary = ESTALE;
  CHECK_THAT(refused(directory.path()), Contains("stale file handle"));
  faults.refuse_temporary = EMFILE;
  CHECK_THAT(refused(directory.path()), Contains("too many open files"));
}

TEST_CASE("a file that is removed under a load is a sentence") {
  const TestDirectory directory;
  Faults faults;
  faults.refuse_temporary = EOPNOTSUPP;
  const ScopedSystemCalls scope(faults);
  Prepared p(directory);
  p.tier->prepare();
  const auto load = p.tier->load({4 * mib, 4, 1});
  CHECK(load->run().seconds > 0);
  faults.refuse_open = ENOENT;
  CHECK_THROWS_WITH(load->run(), Contains("cannot open a file of the store"));
  faults.refuse_open = ESTALE;
  CHECK_THROWS_WITH(load->run(), Contains("ESTALE"));
  faults.refuse_open = 0;
  CHECK(load->run().seconds > 0);
}
