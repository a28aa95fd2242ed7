#include "cli/png.hpp"

#include "profile/profile.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace breakeven::cli {
namespace {

class File {
public:
  explicit File(int descriptor) : m_descriptor(descriptor) {}
  ~File() {
    if (m_descriptor >= 0) close(m_descriptor);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int get() const { return m_descriptor; }

private:
  int m_descriptor;
};

error failure(const std::string& what, int number) {
  return {error_kind::environment, what + ": " + std::strerror(number)};
}

/// A file in memory, so that a converter that stops reading cannot end this process by SIGPIPE.
void fill(const File& file, const std::string& text) {
  if (file.get() < 0) throw failure("cannot keep the picture in memory", errno);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(file.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw failure("cannot keep the picture in memory", errno);
    done += static_cast<std::size_t>(n);
  }
  lseek(file.get(), 0, SEEK_SET);
}

/// Exit status of rsvg-convert from `input` to `output`.
int convert(const File& input, std::string output) {
  std::string program = "rsvg-convert", zoom = "--zoom=2", format = "--format=png";
  output = "--output=" + output;
  std::array<char*, 5> arguments = {program.data(), zoom.data(), format.data(), output.data(),
                                    nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
  pid_t child = 0;
  const int refused =
      posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (refused == ENOENT)
    throw error(error_kind::environment,
                "a PNG needs the program rsvg-convert, which is not installed (Debian: "
                "librsvg2-bin); or write --svg");
  if (refused != 0) throw failure("cannot run rsvg-convert", refused);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw failure("cannot wait for rsvg-convert", errno);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

void write_png(const std::string& svg, const std::string& path) {
  profile::require_writable(path);
  const File input(memfd_create("breakeven.svg", MFD_CLOEXEC));
  fill(input, svg);
  const std::string part = path + ".part-" + std::to_string(getpid());
  const int status = convert(input, part);
  if (status != 0) {
    unlink(part.c_str());
    throw error(error_kind::environment, "rsvg-convert failed with exit status " +
                                             std::to_string(status) + ": " + printable(path) +
                                             " was not written");
  }
  if (rename(part.c_str(), path.c_str()) != 0) {
    const int number = errno;
    unlink(part.c_str());
    throw failure("cannot write " + printable(path), number);
  }
}

} // namespace breakeven::cli
