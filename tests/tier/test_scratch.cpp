#include "support/catch.hpp"

#include "support/error.hpp"
#include "tier/scratch.hpp"
#include "tier_fixture.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>

using namespace breakeven;
using namespace breakeven::tier;
using Catch::Matchers::Contains;

namespace {

/// Runs `work` in a process of its own; it is waited for in the destructor at the latest.
class Child {
public:
  explicit Child(const std::function<int()>& work) : m_pid(fork()) {
    if (m_pid != 0) return;
    int code = 99;
    try {
      code = work();
    } catch (...) {
      code = 98;
    }
    _exit(code); // no test frame must run twice
  }
  ~Child() {
    if (m_pid > 0) wait();
  }
  Child(const Child&) = delete;
  Child(Child&& other) noexcept : m_pid(std::exchange(other.m_pid, -1)) {}
  /// Exit code, or minus the signal.
  int wait() {
    int status = 0;
    waitpid(std::exchange(m_pid, -1), &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  void kill() const { ::kill(m_pid, SIGKILL); }

private:
  pid_t m_pid;
};

/// A child that says that it is ready and then sleeps until it is killed.
int wait_to_be_killed(int ready) {
  const char byte = 1;
  if (write(ready, &byte, 1) != 1) return 97;
  while (true)
    pause();
}

struct Pipe {
  Pipe() { REQUIRE(pipe(ends) == 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  void wait() const {
    char byte = 0;
    CHECK(read(ends[0], &byte, 1) == 1);
  }
  int ends[2];
};

} // namespace

TEST_CASE("SIGKILL leaves no scratch file") {
  const TestDirectory directory;
  const Pipe ready;
  Child child([&] {
    HostBuffer device(8 * mib);
    const auto tier = create(parse_tier_spec(directory.spec()), small_options(8 * mib), device);
    tier->prepare();
    return wait_to_be_killed(ready.ends[1]);
  });
  ready.wait();
  child.kill();
  CHECK(child.wait() == -SIGKILL);
  CHECK(directory.names().empty());
}

TEST_CASE("named files of a killed run are removed by the next, which says so") {
  const TestDirectory directory;
  const Pipe ready;
  Child child([&] {
    ScratchDirectory scratch(directory.path());
    scratch.use(ScratchDirectory::Method::named);
    const ScratchFile a = scratch.create(), b = scratch.create();
    return wait_to_be_killed(ready.ends[1]);
  });
  ready.wait();
  REQUIRE(directory.names().size() == 1);
  {
    const ScratchDirectory beside(directory.path()); // the other run lives: its files stay
    CHECK(beside.notes().empty());
    CHECK(directory.names().size() == 1);
  }
  child.kill();
  child.wait();
  const std::string left = directory.path() + "/" + directory.names().front();
  std::ofstream(left + "/notes.txt") << "somebody else's";
  {
    const ScratchDirectory next(directory.path());
    CHECK(next.notes().empty()); // a foreign file keeps the directory
  }
  CHECK(std::filesystem::exists(left + "/notes.txt"));
  std::filesystem::remove(left + "/notes.txt");
  std::filesystem::last_write_time(left, std::filesystem::file_time_type::clock::now() -
                                             std::chrono::hours(1));
  const ScratchDirectory last(directory.path());
  CHECK_THAT(joined(last.notes()), Contains("removed the scratch files"));
  CHECK(directory.names().empty());
}

TEST_CASE("each way of making scratch files leaves none behind") {
  const TestDirectory directory;
  const auto method = GENERATE(ScratchDirectory::Method::temporary,
                               ScratchDirectory::Method::unlinked, ScratchDirectory::Method::named);
  {
    ScratchDirectory scratch(directory.path());
    scratch.use(method);
    const ScratchFile file = scratch.create();
    CHECK(pwrite(file.file.get(), "x", 1, 0) == 1);
    const int again = open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
    char byte = 0;
    CHECK(pread(again, &byte, 1, 0) == 1);
    CHECK(byte == 'x');
    close(again);
  }
  CHECK(directory.names().empty());
}

TEST_CASE("files that are not ours are neither deleted nor written") {
  const TestDirectory directory;
  const std::string lookalike = directory.path() + "/.breakeven-scratch-1-0-0";
  const std::string folder = directory.path() + "/.breakeven-scratch-abcdef";
  std::ofstream(lookalike) << "mine";
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/data.bin") << "mine too";
  std::filesystem::create_symlink(folder, directory.path() + "/.breakeven-scratch-link");
  for (const auto method : {ScratchDirectory::Method::temporary, ScratchDirectory::Method::unlinked,
                            ScratchDirectory::Method::named}) {
    ScratchDirectory scratch(directory.path());
    scratch.use(method);
    const ScratchFile file = scratch.create();
  }
  const auto content = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK(content(lookalike) == "mine");
  CHECK(content(folder + "/data.bin") == "mine too");
  CHECK(directory.names().size() == 3);
}

TEST_CASE("another user's directory is refused, and its files stay") {
  if (geteuid() != 0) {
    WARN("needs root to become another user");
    return;
  }
  const TestDirectory directory;
  chmod(directory.path().c_str(), 0755);
  const std::string folder = directory.path() + "/.breakeven-scratch-abcdef";
  std::filesystem::create_directory(folder);
  const Pipe said;
  Child child([&] {
    if (setgid(65534) != 0 || setuid(65534) != 0) return 96;
    try {
      ScratchDirectory scratch(directory.path());
      scratch.create();
      return 1;
    } catch (const error& failure) {
      const std::string text = failure.what();
      if (write(said.ends[1], text.data(), text.size()) < 0) return 95;
      return failure.kind() == error_kind::environment ? 0 : 2;
    }
  });
  const int code = child.wait();
  char text[512] = {};
  if (code == 0) CHECK(read(said.ends[0], text, sizeof text - 1) > 0);
  // A path below a directory that this user may not enter is refused all the same.
  CHECK(code == 0);
  CHECK_THAT(text, Contains("permission denied"));
  CHECK(std::filesystem::exists(folder));
}

TEST_CASE("ten calibrations in one directory do not disturb each other") {
  const TestDirectory directory;
  std::vector<Child> children;
  for (int i = 0; i < 10; ++i)
    children.emplace_back([&] {
      HostBuffer device(4 * mib);
      const auto tier =
          create(parse_tier_spec(directory.spec()), small_options(4 * mib, 1), device);
      tier->prepare();
      const auto load = tier->load({4 * mib, 4, 1}); // verifies every byte that it reads
      for (int run = 0; run < 3; ++run)
        if (!(load->run().seconds > 0)) return 1;
      return 0;
    });
  for (Child& child : children)
    CHECK(child.wait() == 0);
  CHECK(directory.names().empty());
}
