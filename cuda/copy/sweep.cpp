#include "cuda/copy/sweep.hpp"

#include "cuda/runtime/check.hpp"
#include "measure/statistics.hpp"
#include "support/error.hpp"

#include <algorithm>
#include <chrono>

namespace breakeven::cuda {
namespace {

constexpr std::uint64_t smallest_piece = 1u << 10, largest_piece = 4u << 20;
constexpr std::uint64_t most_pieces = 512;
/// Copies that overlap must be long beside the time it takes to start them.
constexpr int copies_at_once = 4;

/// The loads' lists, made anew in every run as a server makes them.
void queue_load(CudaDeviceBuffer& buffer, const std::byte* source, const CopyShape& shape,
                std::size_t lane, std::vector<compute::DeviceRun>& runs) {
  constexpr std::uint64_t stride = 1021; // a prime: places are scattered
  const std::uint64_t first = lane * shape.piece_bytes * shape.pieces;
  runs.clear();
  for (std::uint64_t i = 0; i < shape.pieces; ++i) {
    const std::uint64_t slot = shape.pieces % stride == 0 ? i : i * stride % shape.pieces;
    runs.push_back({first + slot * shape.piece_bytes, source + first + i * shape.piece_bytes,
                    static_cast<std::size_t>(shape.piece_bytes)});
  }
  buffer.copy_in_runs(runs, lane);
}

struct Run {
  double wall_s, device_s;
};

Run run_once(CudaDeviceBuffer& buffer, std::span<std::byte> source, const CopyShape& shape,
             std::vector<compute::DeviceRun>& runs) {
  using clock = std::chrono::steady_clock;
  const std::uint64_t bytes = shape.piece_bytes * shape.pieces * shape.in_flight;
  Event start;
  std::vector<Event> ends(shape.in_flight);
  const clock::time_point called = clock::now();
  start.record(buffer.lane(0).stream.get());
  if (shape.both_ways) {
    CopyLane& back = buffer.lane(shape.in_flight);
    back.stream.wait(start);
    check(calls().memcpy_async(source.data() + bytes, buffer.device_address() + bytes, bytes,
                               cudaMemcpyDeviceToHost, back.stream.get()),
          "copying from the device");
  }
  for (std::size_t lane = 0; lane < shape.in_flight; ++lane) {
    if (lane > 0) buffer.lane(lane).stream.wait(start);
    queue_load(buffer, source.data(), shape, lane, runs);
    ends[lane].record(buffer.lane(lane).stream.get());
  }
  for (Event& end : ends)
    end.synchronize();
  Run run{std::chrono::duration<double>(clock::now() - called).count(), 0};
  buffer.synchronize();
  for (const Event& end : ends)
    run.device_s = std::max(run.device_s, seconds_between(start, end));
  return run;
}

struct LinkCopy {
  Event start, end;
};

void start_link_copy(const LinkUser& user, LinkCopy& copy) {
  user.buffer->attach_thread();
  cudaStream_t stream = user.buffer->lane(0).stream.get();
  copy.start.record(stream);
  for (int i = 0; i < copies_at_once; ++i)
    check(calls().memcpy_async(user.buffer->device_address(), user.source.data(),
                               user.source.size(), cudaMemcpyHostToDevice, stream),
          "copying to the device");
  copy.end.record(stream);
}

double link_rate(const LinkUser& user, const LinkCopy& copy) {
  const double bytes = static_cast<double>(user.source.size()) * copies_at_once;
  return bytes / std::max(seconds_between(copy.start, copy.end), 1e-9);
}

} // namespace

CopyTime time_copies(CudaDeviceBuffer& buffer, std::span<std::byte> source, const CopyShape& shape,
                     int runs) {
  const std::uint64_t bytes =
      shape.piece_bytes * shape.pieces * shape.in_flight * (shape.both_ways ? 2 : 1);
  if (bytes == 0 || bytes > source.size() || bytes > buffer.size_bytes())
    throw error(error_kind::usage, "copies to be timed must fit into source and device buffer");
  for (std::size_t lane = 0; lane <= shape.in_flight; ++lane)
    buffer.lane(lane); // streams are not made in the timed region
  std::vector<compute::DeviceRun> list;
  std::vector<double> wall_s, device_s;
  for (int i = 0; i <= runs; ++i) {
    const Run run = run_once(buffer, source, shape, list);
    if (i == 0 && runs > 0) continue;
    wall_s.push_back(run.wall_s);
    device_s.push_back(run.device_s);
  }
  return {shape, "", measure::median(wall_s), measure::median(device_s)};
}

std::vector<CopyTime> sweep_copies(CudaDeviceBuffer& buffer, std::span<std::byte> source,
                                   int runs) {
  std::vector<CopyTime> times;
  const std::uint64_t most = std::min<std::uint64_t>(source.size(), buffer.size_bytes());
  for (const auto& [name, variant] : copy_variants().rows()) {
    if (!variant.unavailable_reason(buffer.facts()).empty()) continue;
    buffer.use(name);
    for (std::uint64_t piece = smallest_piece; piece <= largest_piece; piece *= 4)
      for (std::uint64_t pieces = 1; pieces <= most_pieces && piece * pieces <= most; pieces *= 8) {
        times.push_back(time_copies(buffer, source, {piece, pieces, 1, false}, runs));
        times.back().variant = name;
      }
  }
  buffer.use("");
  return times;
}

std::vector<LinkShare> share_link(std::span<const LinkUser> users, int runs) {
  std::vector<LinkCopy> copies;
  for (const LinkUser& user : users) {
    user.buffer->attach_thread(); // events belong to the device that is current
    copies.emplace_back();
  }
  std::vector<std::vector<double>> alone(users.size()), together(users.size());
  for (int run = 0; run < std::max(runs, 1); ++run) {
    for (std::size_t i = 0; i < users.size(); ++i) {
      start_link_copy(users[i], copies[i]);
      users[i].buffer->synchronize();
      alone[i].push_back(link_rate(users[i], copies[i]));
    }
    for (std::size_t i = 0; i < users.size(); ++i)
      start_link_copy(users[i], copies[i]);
    for (std::size_t i = 0; i < users.size(); ++i) {
      users[i].buffer->attach_thread();
      users[i].buffer->synchronize();
      together[i].push_back(link_rate(users[i], copies[i]));
    }
  }
  std::vector<LinkShare> shares;
  for (std::size_t i = 0; i < users.size(); ++i)
    shares.push_back({measure::median(alone[i]), measure::median(together[i])});
  return shares;
}

} // namespace breakeven::cuda
