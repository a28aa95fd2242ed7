#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace breakeven::test {

struct Result {
  int exit_code = -1;
  std::string out, err;
};

/// A directory of its own that is the current one of every command run in it, gone at the end.
class Sandbox {
public:
  Sandbox() {
    std::string name = (std::filesystem::temp_directory_path() / "breakeven-cli-XXXXXX").string();
    m_path = ::mkdtemp(name.data());
  }
  ~Sandbox() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return m_path; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(m_path / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::string read(const std::filesystem::path& name) const {
    std::stringstream text;
    text << std::ifstream(m_path / name, std::ios::binary).rdbuf();
    return text.str();
  }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(m_path),
                                                  std::filesystem::directory_iterator()));
  }

  /// Runs a shell command in the directory; "breakeven" is the tool that was built. Output goes to
  /// files beside the directory, so that a test may count what is in it.
  [[nodiscard]] Result run(const std::string& command) const {
    const std::string out = m_path.string() + ".out", err = m_path.string() + ".err";
    const std::string line = "cd '" + m_path.string() +
                             "' && breakeven() { '" BREAKEVEN_BINARY "' \"$@\"; }; " + command +
                             " >'" + out + "' 2>'" + err + "'";
    const int status = std::system(("bash -c " + quoted(line)).c_str());
    Result result;
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = read(out);
    result.err = read(err);
    ::unlink(out.c_str());
    ::unlink(err.c_str());
    return result;
  }

private:
  static std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) {
      if (c == '\'') result += "'\\'";
      result += c;
    }
    return result + "'";
  }
  std::filesystem::path m_path;
};

} // namespace breakeven::test
