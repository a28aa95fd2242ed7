#include "tier/read_queue.hpp"

#include "tier/system_calls.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace breakeven::tier {
namespace {

class ThreadQueue final : public ReadQueue {
public:
  explicit ThreadQueue(unsigned depth) {
    constexpr unsigned most_threads = 64;
    for (unsigned i = 0; i < std::clamp(depth, 1u, most_threads); ++i)
      m_threads.emplace_back([this] { serve(); });
  }
  ~ThreadQueue() override {
    {
      const std::lock_guard lock(m_mutex);
      m_stop = true;
    }
    m_work.notify_all();
    for (std::thread& thread : m_threads)
      thread.join();
  }

  void submit(const ReadRequest& request) override {
    {
      const std::lock_guard lock(m_mutex);
      m_requests.push_back(request);
    }
    m_work.notify_one();
  }

  ReadCompletion wait() override {
    std::unique_lock lock(m_mutex);
    m_ended.wait(lock, [&] { return !m_completions.empty(); });
    const ReadCompletion completion = m_completions.front();
    m_completions.pop_front();
    return completion;
  }

  [[nodiscard]] unsigned depth() const override { return static_cast<unsigned>(m_threads.size()); }

private:
  void serve() {
    std::unique_lock lock(m_mutex);
    while (true) {
      m_work.wait(lock, [&] { return m_stop || !m_requests.empty(); });
      if (m_requests.empty()) return; // stopped, and nothing left that a caller may wait for
      const ReadRequest request = m_requests.front();
      m_requests.pop_front();
      lock.unlock();
      const ssize_t bytes = system_calls().preadv(request.fd, request.vectors, request.vector_count,
                                                  static_cast<off_t>(request.offset));
      const ReadCompletion completion{request.id, bytes < 0 ? -errno : bytes};
      lock.lock();
      m_completions.push_back(completion);
      m_ended.notify_one();
    }
  }

  std::mutex m_mutex;
  std::condition_variable m_work, m_ended;
  std::deque<ReadRequest> m_requests;
  std::deque<ReadCompletion> m_completions;
  bool m_stop = false;
  std::vector<std::thread> m_threads;
};

} // namespace

std::unique_ptr<ReadQueue> make_thread_queue(unsigned depth) {
  return std::make_unique<ThreadQueue>(depth);
}

} // namespace breakeven::tier
