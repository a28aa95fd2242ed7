#pragma once

#include <driver_types.h>

#include <utility>

namespace breakeven::cuda {

/// A point in a stream whose time can be read (device clock, about 0.5 us resolution).
class Event {
public:
  /// Throws error::environment.
  Event();
  ~Event();
  Event(Event&& other) noexcept : m_event(std::exchange(other.m_event, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(m_event, other.m_event);
    return *this;
  }
  void record(cudaStream_t stream);
  void synchronize();
  [[nodiscard]] cudaEvent_t get() const noexcept { return m_event; }

private:
  cudaEvent_t m_event = nullptr;
};

/// Device seconds between two events that both have been reached.
double seconds_between(const Event& start, const Event& end);

/// A non-blocking stream: nothing waits for the legacy default stream.
class Stream {
public:
  /// Throws error::environment.
  Stream();
  ~Stream();
  Stream(Stream&& other) noexcept : m_stream(std::exchange(other.m_stream, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(m_stream, other.m_stream);
    return *this;
  }
  void synchronize();
  /// Work queued from now on waits for `event`.
  void wait(const Event& event);
  [[nodiscard]] cudaStream_t get() const noexcept { return m_stream; }

private:
  cudaStream_t m_stream = nullptr;
};

} // namespace breakeven::cuda
