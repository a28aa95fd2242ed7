#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace breakeven::tier {

/// Threads that share out numbered tasks. The caller works too and tasks are claimed one by one,
/// so that a helper that wakes late costs nothing but its help.
class ThreadTeam {
public:
  explicit ThreadTeam(int threads); ///< all together, the caller included; at least 1
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] int threads() const { return static_cast<int>(m_helpers.size()) + 1; }

  /// Returns when task(0) ... task(count - 1) are done. Rethrows the first exception of a task.
  void run(std::size_t count, const std::function<void(std::size_t)>& task);

private:
  void help();
  void work();

  std::mutex m_mutex;
  std::condition_variable m_start, m_done;
  const std::function<void(std::size_t)>* m_task = nullptr;
  std::size_t m_count = 0;
  std::atomic<std::size_t> m_next{0};
  std::exception_ptr m_failure;
  std::size_t m_round = 0;
  int m_working = 0; ///< helpers inside work()
  bool m_stop = false;
  std::vector<std::thread> m_helpers;
};

} // namespace breakeven::tier
