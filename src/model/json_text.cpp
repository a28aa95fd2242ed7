#include "model/json_text.hpp"

#include "support/error.hpp"
#include "support/text.hpp"

#include <cctype>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace breakeven::model {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw error(error_kind::bad_input, printable(where) + ": " + what);
}

struct FileDescriptor {
  int value = -1;
  ~FileDescriptor() {
    if (value >= 0) ::close(value);
  }
};

/// Walks the text once without recursion: finds what would be dear or dangerous to parse, and
/// rewrites the three literals that Python's json module adds to the language.
class Scanner {
public:
  Scanner(std::string_view text, const std::string& where) : m_text(text), m_where(where) {}

  std::string run() {
    m_result.reserve(m_text.size());
    while (m_at < m_text.size())
      step();
    return std::move(m_result);
  }

private:
  void step() {
    const char c = m_text[m_at];
    if (c == '"') return string();
    if (c == '[' || c == '{') {
      if (++m_depth > max_json_depth)
        refuse(m_where, "is nested deeper than " + std::to_string(max_json_depth) + " levels");
      count_value();
    }
    if (c == ']' || c == '}') --m_depth;
    if (c == ',') count_value();
    if (c == '-' || std::isdigit(static_cast<unsigned char>(c)) != 0) return number();
    if (c == 'N' || c == 'I') return literal();
    m_result += c;
    ++m_at;
  }

  void count_value() {
    if (++m_values > max_json_values)
      refuse(m_where, "holds more than " + std::to_string(max_json_values) + " values");
  }

  void string() {
    const std::size_t begin = m_at++;
    while (m_at < m_text.size() && m_text[m_at] != '"')
      m_at += m_text[m_at] == '\\' ? 2 : 1;
    m_at = std::min(m_at + 1, m_text.size());
    m_result += m_text.substr(begin, m_at - begin);
  }

  void number() {
    if (m_text.substr(m_at, 9) == "-Infinity") {
      m_result += "\"-Infinity\"";
      m_at += 9;
      return;
    }
    const std::size_t begin = m_at;
    constexpr std::string_view members = "+-.0123456789eE";
    while (m_at < m_text.size() && members.find(m_text[m_at]) != std::string_view::npos)
      ++m_at;
    if (m_at - begin > max_json_number_length)
      refuse(m_where, "holds a number of " + std::to_string(m_at - begin) + " characters");
    m_result += m_text.substr(begin, m_at - begin);
  }

  void literal() {
    for (const std::string_view word : {std::string_view("NaN"), std::string_view("Infinity")}) {
      if (m_text.substr(m_at, word.size()) != word) continue;
      m_result.append("\"").append(word).append("\"");
      m_at += word.size();
      return;
    }
    m_result += m_text[m_at++];
  }

  std::string_view m_text;
  const std::string& m_where;
  std::string m_result;
  std::size_t m_at = 0;
  int m_depth = 0;
  std::int64_t m_values = 0;
};

/// The message of nlohmann's parse error without its "[json.exception...]" prefix.
std::string short_message(const json::exception& failure) {
  const std::string message = failure.what();
  const std::size_t end = message.find("] ");
  return printable(end == std::string::npos ? message : message.substr(end + 2));
}

} // namespace

std::string read_text_file(const std::string& path, std::int64_t limit_bytes) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer before its kind is known.
  const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0) refuse(path, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat facts = {};
  if (::fstat(file.value, &facts) != 0)
    refuse(path, std::string("cannot be examined: ") + std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) refuse(path, "is not a regular file");
  if (facts.st_size > limit_bytes)
    refuse(path, "is " + std::to_string(facts.st_size) +
                     " bytes large; a model's config is at most " + std::to_string(limit_bytes));
  std::string text(
      static_cast<std::size_t>(limit_bytes < facts.st_size ? limit_bytes : facts.st_size), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = ::read(file.value, text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path, std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

json parse_json(std::string_view text, const std::string& where) {
  if (text.size() > static_cast<std::size_t>(max_json_bytes))
    refuse(where, "is larger than " + std::to_string(max_json_bytes) + " bytes");
  const std::string clean = Scanner(text, where).run();
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      refuse(where, "holds the key '" + printable(value.get<std::string>()) + "' twice");
    return true;
  };
  try {
    return json::parse(clean, watch);
  } catch (const json::exception& failure) {
    refuse(where, "is not JSON: " + short_message(failure));
  }
}

} // namespace breakeven::model
