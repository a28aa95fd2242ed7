#pragma once

#include "breakeven/policy_file.hpp"

#include <cmath>
#include <random>
#include <string>
#include <vector>

/// Random valid break-even files, and the cost model written a second time in its plainest form.
namespace sample {

using Numbers = std::vector<double>;

struct Grid {
  std::vector<std::int64_t> context, fresh;
  std::vector<Numbers> seconds; ///< [context][new]
};

struct TierData {
  std::string name = "memory";
  breakeven::TierVerdict verdict = breakeven::TierVerdict::at;
  std::int64_t tokens = 512, hi_tokens = 700;
  double fixed_s = 20e-6, piece_s = 1e-6;
  std::vector<std::int64_t> in_flight{1};
  Numbers bandwidth_Bps{10e9};
  std::int64_t chunk_tokens = 256, pieces_per_chunk = 64;
  double store_Bps = 5e9;
};

struct Window {
  std::int64_t tokens, bytes_per_token;
};

/// Everything a policy is made of.
struct File {
  std::int64_t chunk = 2048, block = 16, checkpoint = 0;
  std::int64_t kv_bytes_per_token = 131072, state_bytes = 0;
  std::vector<Window> windows;
  std::vector<std::int64_t> dense_new{1, 64, 256, 1024, 2048};
  Numbers dense{5e-3, 5.2e-3, 9e-3, 33e-3, 65e-3};
  std::vector<Grid> grids;
  std::vector<TierData> tiers{TierData{}};
  std::vector<std::int64_t> lengths{256, 32768};
};

/// A machine like a small server: dense floor, attention proportional to pairs.
inline File plain() {
  File file;
  Grid grid;
  grid.context = {0, 1024, 4096, 16384, 32768};
  grid.fresh = {1, 64, 512, 2048};
  for (const auto c : grid.context) {
    Numbers row;
    for (const auto n : grid.fresh)
      row.push_back(2e-9 * static_cast<double>(n) *
                        (static_cast<double>(c) + 0.5 * static_cast<double>(n)) +
                    1e-5);
    grid.seconds.push_back(row);
  }
  file.grids.push_back(grid);
  return file;
}

/// Piecewise linear through the points; beyond the last one the last slope, if it rises.
inline double line(const std::vector<std::int64_t>& x, const Numbers& y, double at) {
  if (x.size() == 1) return y[0];
  std::size_t i = 0;
  while (i + 2 < x.size() && at >= static_cast<double>(x[i + 1]))
    ++i;
  const double x0 = static_cast<double>(x[i]), x1 = static_cast<double>(x[i + 1]);
  double slope = (y[i + 1] - y[i]) / (x1 - x0);
  if (at > x1) return y[i + 1] + std::max(0.0, slope) * (at - x1);
  return y[i] + slope * (at - x0);
}

inline double row_s(const Grid& grid, std::size_t q, double n) {
  const double first = static_cast<double>(grid.fresh[0]);
  if (n <= first || grid.fresh.size() == 1) return grid.seconds[q][0] * n / first;
  return line(grid.fresh, grid.seconds[q], n);
}

inline double step_s(const File& file, std::int64_t context, std::int64_t fresh) {
  const double n = static_cast<double>(fresh);
  double total = n <= static_cast<double>(file.dense_new[0]) ? file.dense[0]
                                                             : line(file.dense_new, file.dense, n);
  for (const Grid& grid : file.grids) {
    Numbers column;
    for (std::size_t q = 0; q < grid.context.size(); ++q)
      column.push_back(row_s(grid, q, n));
    total += line(grid.context, column, static_cast<double>(context));
  }
  return total;
}

inline double prefill_s(const File& file, std::int64_t context, std::int64_t fresh) {
  double total = 0;
  for (; fresh > 0; context += file.chunk, fresh -= file.chunk)
    total += step_s(file, context, std::min(fresh, file.chunk));
  return total;
}

inline double bandwidth(const TierData& tier, double in_flight) {
  const double last = static_cast<double>(tier.in_flight.back());
  if (in_flight <= static_cast<double>(tier.in_flight[0])) return tier.bandwidth_Bps[0];
  if (in_flight >= last) return tier.bandwidth_Bps.back() * last / in_flight;
  std::size_t i = 0;
  while (in_flight >= static_cast<double>(tier.in_flight[i + 1]))
    ++i;
  const double x0 = static_cast<double>(tier.in_flight[i]),
               x1 = static_cast<double>(tier.in_flight[i + 1]);
  return tier.bandwidth_Bps[i] +
         (in_flight - x0) / (x1 - x0) * (tier.bandwidth_Bps[i + 1] - tier.bandwidth_Bps[i]);
}

/// Bytes of the tokens [resident, tokens) without state.
inline double token_bytes(const File& file, std::int64_t resident, std::int64_t tokens) {
  double bytes = static_cast<double>(file.kv_bytes_per_token * (tokens - resident));
  for (const Window& window : file.windows)
    bytes +=
        static_cast<double>(window.bytes_per_token * std::min(tokens - resident, window.tokens));
  return bytes;
}

struct Part {
  int tier;
  std::int64_t end;
  double in_flight = 1;
};

struct Request {
  std::int64_t prompt = 0, resident = 0, block = 0;
  double queue_wait_s = 0, compute_price = 0, margin = 0;
  std::vector<Part> parts;
};

inline std::int64_t floor_chunk(std::int64_t tokens, std::int64_t chunk) {
  return tokens / chunk;
}

/// Load time of the first `tokens` tokens of a request, all of them within calibrated parts.
inline double load_s(const File& file, const Request& request, std::int64_t tokens) {
  double total = 0;
  std::int64_t begin = request.resident;
  for (const Part& part : request.parts) {
    const std::int64_t end = std::min({part.end, request.prompt - 1, tokens});
    if (end <= begin) continue;
    const TierData& tier = file.tiers[static_cast<std::size_t>(part.tier)];
    const std::int64_t chunks =
        (end + tier.chunk_tokens - 1) / tier.chunk_tokens - begin / tier.chunk_tokens;
    double bytes =
        token_bytes(file, request.resident, end) - token_bytes(file, request.resident, begin);
    if (end == tokens) bytes += static_cast<double>(file.state_bytes);
    total += tier.fixed_s + tier.piece_s * static_cast<double>(chunks * tier.pieces_per_chunk) +
             bytes / bandwidth(tier, part.in_flight);
    begin = end;
  }
  return total;
}

inline double cost(const File& file, const Request& request, std::int64_t tokens) {
  const double load = tokens > request.resident ? load_s(file, request, tokens) : 0;
  return std::max(0.0, load - request.queue_wait_s) +
         (1 + request.compute_price) * (1 - request.margin) *
             prefill_s(file, tokens, request.prompt - tokens);
}

breakeven::Policy make_policy(const File& file);
std::string to_json(const File& file);
breakeven::Query to_query(const Request& request);

/// A random machine, model and set of tiers; `noise` 0 gives smooth curves.
File random_file(std::mt19937_64& random, double noise);
Request random_request(std::mt19937_64& random, const File& file, int parts);

} // namespace sample
