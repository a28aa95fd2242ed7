#pragma once

#include "breakeven/policy.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace breakeven {

/// A policy that can be replaced while threads decide with it. C++17, std only.
///
/// Every thread reads through a Reader of its own, which costs one atomic load per use, never
/// blocks, and always yields one whole policy. Old policies are freed by publish(), once the last
/// reader has moved on; an idle Reader keeps the one it last used alive.
class LivePolicy {
public:
  explicit LivePolicy(std::shared_ptr<const Policy> policy) : m_current(std::move(policy)) {
    if (!m_current) m_current = std::make_shared<const Policy>();
  }
  LivePolicy(const LivePolicy&) = delete;
  LivePolicy& operator=(const LivePolicy&) = delete;

  /// Replaces the policy for readers from their next use on; null is ignored. Any thread; writers
  /// wait for each other.
  void publish(std::shared_ptr<const Policy> policy) {
    if (!policy) return;
    std::vector<std::shared_ptr<const Policy>> unused; // freed after the lock is released
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_retired.push_back(std::exchange(m_current, std::move(policy)));
    m_version.fetch_add(1, std::memory_order_release);
    // Nobody can take a new reference to a retired policy, so a count of one stays one.
    const auto used = std::partition(m_retired.begin(), m_retired.end(),
                                     [](const auto& old) { return old.use_count() > 1; });
    unused.assign(std::make_move_iterator(used), std::make_move_iterator(m_retired.end()));
    m_retired.erase(used, m_retired.end());
  }

  /// The policy of now, to keep. Takes a lock: for setting up, not for the path of a request.
  [[nodiscard]] std::shared_ptr<const Policy> snapshot() const {
    const std::lock_guard<std::mutex> lock(m_mutex);
    return m_current;
  }

  /// Policies replaced but still held by a reader.
  [[nodiscard]] std::size_t retired_count() const {
    const std::lock_guard<std::mutex> lock(m_mutex);
    return m_retired.size();
  }

  /// One thread's view; must not outlive the LivePolicy.
  class Reader {
  public:
    explicit Reader(const LivePolicy& live) : m_live(&live) {
      const std::lock_guard<std::mutex> lock(live.m_mutex);
      m_policy = live.m_current;
      m_version = live.m_version.load(std::memory_order_relaxed);
    }
    /// The newest policy, or, in the instant in which one is being replaced, the one before it.
    /// Valid until the next call.
    [[nodiscard]] const Policy& policy() noexcept {
      if (m_live->m_version.load(std::memory_order_acquire) != m_version) refresh();
      return *m_policy;
    }

  private:
    void refresh() noexcept {
      const std::unique_lock<std::mutex> lock(m_live->m_mutex, std::try_to_lock);
      if (!lock.owns_lock()) return;
      m_policy = m_live->m_current;
      m_version = m_live->m_version.load(std::memory_order_relaxed);
    }
    const LivePolicy* m_live;
    std::shared_ptr<const Policy> m_policy;
    std::uint64_t m_version = 0;
  };

private:
  mutable std::mutex m_mutex;
  std::atomic<std::uint64_t> m_version{0};
  std::shared_ptr<const Policy> m_current;
  std::vector<std::shared_ptr<const Policy>> m_retired;
};

} // namespace breakeven
