#pragma once

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace breakeven::calibrate {

/// While it lives, SIGINT and SIGTERM request a stop instead of killing the process; a second one
/// ends it at once. Create it before any other thread: they inherit its signal mask.
class Interrupt {
public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] std::stop_token token() const { return m_stop.get_token(); }
  /// SIGINT or SIGTERM once one has come, else 0.
  [[nodiscard]] int signal() const { return m_signal.load(); }

private:
  void wait_for_signals();

  std::stop_source m_stop;
  std::atomic<int> m_signal{0};
  std::atomic<bool> m_done{false};
  sigset_t m_old_mask{};
  std::jthread m_waiter;
};

} // namespace breakeven::calibrate
