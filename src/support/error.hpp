#pragma once

#include <stdexcept>
#include <string>

namespace breakeven {

/// What went wrong, as the exit code that main() returns for it.
enum class error_kind {
  usage = 2,       ///< wrong arguments
  bad_input = 3,   ///< a file that cannot be read, parsed or trusted
  environment = 4, ///< the machine lacks something that the request needs
  measurement = 5, ///< a measurement failed or is inconclusive where a result was required
};

/// The one exception type of the project. The message is a whole sentence without a trailing
/// newline: what was wrong, where, and what to do about it.
class error : public std::runtime_error {
public:
  error(error_kind kind, const std::string& message) : std::runtime_error(message), m_kind(kind) {}
  [[nodiscard]] error_kind kind() const noexcept { return m_kind; }
  [[nodiscard]] int exit_code() const noexcept { return static_cast<int>(m_kind); }

private:
  error_kind m_kind;
};

} // namespace breakeven
