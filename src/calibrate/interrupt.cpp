#include "calibrate/interrupt.hpp"

#include <pthread.h>
#include <unistd.h>

namespace breakeven::calibrate {
namespace {

// SIGUSR2 wakes the waiting thread when the run has ended by itself.
sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR2);
  return set;
}

} // namespace

Interrupt::Interrupt() {
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, &m_old_mask);
  m_waiter = std::jthread([this] { wait_for_signals(); });
}

Interrupt::~Interrupt() {
  m_done = true;
  pthread_kill(m_waiter.native_handle(), SIGUSR2);
  m_waiter.join();
  pthread_sigmask(SIG_SETMASK, &m_old_mask, nullptr);
}

void Interrupt::wait_for_signals() {
  const sigset_t set = watched();
  while (true) {
    int number = 0;
    if (sigwait(&set, &number) != 0 || m_done) return;
    if (number == SIGUSR2) continue; // not ours
    if (m_signal.exchange(number) != 0) _exit(128 + number);
    m_stop.request_stop();
  }
}

} // namespace breakeven::calibrate
