#include "cuda/runtime/stream.hpp"

#include "cuda/runtime/check.hpp"

namespace breakeven::cuda {

Event::Event() {
  check(calls().event_create(&m_event, cudaEventBlockingSync), "creating an event");
}

Event::~Event() {
  if (m_event != nullptr) static_cast<void>(succeeded(calls().event_destroy(m_event)));
}

void Event::record(cudaStream_t stream) {
  check(calls().event_record(m_event, stream), "recording an event");
}

void Event::synchronize() {
  check(calls().event_synchronize(m_event), "waiting for the device");
}

double seconds_between(const Event& start, const Event& end) {
  float milliseconds = 0;
  check(calls().event_elapsed_ms(&milliseconds, start.get(), end.get()), "reading device time");
  return static_cast<double>(milliseconds) * 1e-3;
}

Stream::Stream() {
  check(calls().stream_create(&m_stream, cudaStreamNonBlocking), "creating a stream");
}

Stream::~Stream() {
  if (m_stream != nullptr) static_cast<void>(succeeded(calls().stream_destroy(m_stream)));
}

void Stream::synchronize() {
  check(calls().stream_synchronize(m_stream), "waiting for the device");
}

void Stream::wait(const Event& event) {
  check(calls().stream_wait_event(m_stream, event.get(), 0), "ordering streams");
}

} // namespace breakeven::cuda
