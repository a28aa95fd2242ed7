#include "tier/thread_team.hpp"

#include <algorithm>

namespace breakeven::tier {

ThreadTeam::ThreadTeam(int threads) {
  for (int i = 1; i < threads; ++i)
    m_helpers.emplace_back([this] { help(); });
}

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard lock(m_mutex);
    m_stop = true;
  }
  m_start.notify_all();
  for (std::thread& helper : m_helpers)
    helper.join();
}

void ThreadTeam::work() {
  while (true) {
    const std::size_t task = m_next.fetch_add(1, std::memory_order_relaxed);
    if (task >= m_count) return;
    try {
      (*m_task)(task);
    } catch (...) {
      const std::lock_guard lock(m_mutex);
      if (!m_failure) m_failure = std::current_exception();
    }
  }
}

void ThreadTeam::help() {
  std::size_t seen = 0;
  std::unique_lock lock(m_mutex);
  while (true) {
    m_start.wait(lock, [&] { return m_stop || (m_round != seen && m_task != nullptr); });
    if (m_stop) return;
    seen = m_round;
    ++m_working;
    lock.unlock();
    work();
    lock.lock();
    if (--m_working == 0) m_done.notify_all();
  }
}

void ThreadTeam::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  if (count == 0) return;
  if (count == 1 || m_helpers.empty()) {
    for (std::size_t i = 0; i < count; ++i)
      task(i);
    return;
  }
  {
    const std::lock_guard lock(m_mutex);
    m_task = &task;
    m_count = count;
    m_next = 0;
    m_failure = nullptr;
    ++m_round;
  }
  m_start.notify_all();
  work();
  std::unique_lock lock(m_mutex);
  m_task = nullptr; // a helper that has not woken up yet stays asleep
  m_done.wait(lock, [&] { return m_working == 0; });
  if (m_failure) std::rethrow_exception(m_failure);
}

} // namespace breakeven::tier
