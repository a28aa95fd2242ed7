#include "calibrate/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace breakeven::calibrate {
namespace {

constexpr int bar_width = 30;

} // namespace

Progress::Progress(Mode mode, double budget_s)
    : m_quiet(mode == Mode::quiet), m_terminal(isatty(STDERR_FILENO) == 1), m_budget_s(budget_s),
      m_start(std::chrono::steady_clock::now()), m_last_draw(m_start) {}

Progress::~Progress() {
  clear_line();
}

double Progress::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_start).count();
}

void Progress::stage(const std::string& name) {
  m_stage = name;
  if (m_quiet) return;
  if (!m_terminal) {
    fmt::print(stderr, "[{:4.0f} s] {}\n", elapsed_s(), name);
    return;
  }
  m_last_draw = {};
  update("");
}

void Progress::update(const std::string& what) {
  const auto now = std::chrono::steady_clock::now();
  if (m_quiet || !m_terminal || now - m_last_draw < std::chrono::milliseconds(100)) return;
  m_last_draw = now;
  const double share = std::clamp(elapsed_s() / m_budget_s, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(share * bar_width);
  const double left = std::max(m_budget_s - elapsed_s(), 0.0);
  std::string line = fmt::format("[{}{}] {:3.0f} s left  {} {}", std::string(filled, '#'),
                                 std::string(bar_width - filled, '.'), left, m_stage, what);
  if (line.size() > 99) line.resize(99); // one row, or the carriage return does not erase it
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
  m_drawn = true;
}

void Progress::warn(const std::string& sentence) {
  if (m_quiet) return;
  clear_line();
  fmt::print(stderr, "warning: {}\n", sentence);
}

void Progress::clear_line() {
  if (!m_drawn) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  m_drawn = false;
}

} // namespace breakeven::calibrate
