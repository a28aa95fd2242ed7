#include "tier/read_search.hpp"

#include "measure/statistics.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace breakeven::tier {
namespace {

struct Candidate {
  TransferOptions options;
  std::vector<double> rates;
  [[nodiscard]] double rate() const { return measure::median(rates); }
  [[nodiscard]] std::uint64_t in_flight_bytes() const {
    return options.request_bytes * options.depth;
  }
};

std::vector<Candidate> grid(const ReadSearchLimits& limits) {
  std::vector<Candidate> candidates;
  for (std::uint64_t request : {256u << 10, 1u << 20, 4u << 20})
    for (unsigned depth : {2u, 4u, 8u, 16u, 32u, 64u, 128u})
      if (depth <= limits.most_depth && request * depth <= limits.most_in_flight_bytes &&
          request * depth <= std::max<std::uint64_t>(limits.most_bytes / 2, 2 * request))
        for (const bool in_place : {true, false})
          if (!in_place || limits.in_place)
            candidates.push_back({{request, depth, 4096, in_place}, {}});
  if (candidates.empty()) candidates.push_back({{256u << 10, 1, 4096, false}, {}});
  return candidates;
}

void shuffle(std::vector<Candidate>& candidates, measure::Random& random) {
  for (std::size_t i = candidates.size(); i > 1; --i)
    std::swap(candidates[i - 1], candidates[random.below(i)]);
}

} // namespace

TransferOptions
search_reads(const ReadSearchLimits& limits, std::uint64_t seed,
             const std::function<double(const TransferOptions&, std::uint64_t bytes)>& read) {
  constexpr double probe_s = 0.05; // long enough to fill the queue many times over
  constexpr std::size_t finalists = 5;
  constexpr int rounds = 4;
  constexpr double alike = 0.02;
  measure::Random random(seed);
  std::vector<Candidate> candidates = grid(limits);
  shuffle(candidates, random);

  const std::uint64_t first = std::min<std::uint64_t>(8u << 20, limits.most_bytes);
  const TransferOptions usual{1u << 20, std::min(8u, limits.most_depth), 4096, false};
  read(usual, first); // the first read of all pays for set-up
  const double guess = static_cast<double>(first) / std::max(read(usual, first), 1e-9);
  const auto bytes =
      std::clamp(static_cast<std::uint64_t>(guess * probe_s), first, limits.most_bytes);

  const auto probe = [&](Candidate& candidate) {
    const double seconds = std::max(read(candidate.options, bytes), 1e-9);
    candidate.rates.push_back(static_cast<double>(bytes) / seconds);
  };
  const auto faster = [](const Candidate& a, const Candidate& b) { return a.rate() > b.rate(); };
  for (Candidate& candidate : candidates)
    probe(candidate);
  std::sort(candidates.begin(), candidates.end(), faster);
  candidates.resize(std::min(candidates.size(), finalists));
  for (int round = 0; round < rounds; ++round) {
    shuffle(candidates, random);
    for (Candidate& candidate : candidates)
      probe(candidate);
  }
  const Candidate best = *std::min_element(candidates.begin(), candidates.end(), faster);
  const Candidate* least = &best;
  for (const Candidate& candidate : candidates)
    if (candidate.rate() >= (1 - alike) * best.rate() &&
        candidate.in_flight_bytes() < least->in_flight_bytes())
      least = &candidate;
  return least->options;
}

} // namespace breakeven::tier
