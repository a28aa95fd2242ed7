// Our side of the tier rows of scripts/bench: reads one JSON request a line, makes one load, and
// answers with its seconds. A tier is prepared on first use and kept.
//   {"op": "load" | "ideal", "tier": "memory", "bytes": 536870912, "pieces": 1}
//   {"op": "fit", "tier": "file:/data", "seconds": 20}
// "fit" answers with {"errors": [relative error of the load model at each point it never saw],
// "points": [...], "reason": ""}.
// Usage: breakeven_tier_worker THREADS

#include "fit/fit.hpp"
#include "measure/sampler.hpp"
#include "profile/profile.hpp"
#include "support/error.hpp"
#include "tier/host_memory.hpp"
#include "tier/tier.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {
using nlohmann::json;
using namespace breakeven;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t largest_load = 1024 * mib;

/// The KV buffer of a CPU device.
class HostBuffer final : public compute::DeviceBuffer {
public:
  HostBuffer() : m_memory(largest_load, "the KV buffer") {
    std::memset(m_memory.data(), 0, m_memory.bytes()); // page faults are not part of a load
  }
  [[nodiscard]] std::uint64_t size_bytes() const override { return m_memory.bytes(); }
  [[nodiscard]] std::byte* host_address() noexcept override { return m_memory.data(); }
  void copy_in(std::uint64_t offset, const std::byte* source, std::size_t bytes) override {
    std::memcpy(m_memory.data() + offset, source, bytes);
  }
  void synchronize() override {}
  void copy_out(std::uint64_t offset, std::byte* destination, std::size_t bytes) override {
    std::memcpy(destination, m_memory.data() + offset, bytes);
  }
  [[nodiscard]] std::string copy_method() const override { return "host memory (memcpy)"; }

private:
  tier::HostMemory m_memory;
};

/// Llama 3.2 1B: 32 KiB of KV a token, blocks of 16 tokens over all layers, files of 256 tokens.
tier::KvLayout layout() {
  return {"one block over all layers", 32 << 10, 256, 16, 16};
}

class Tiers {
public:
  explicit Tiers(int threads) : m_threads(threads) {}

  tier::Tier& at(const std::string& spec) {
    if (m_spec == spec) return *m_tier;
    m_loads.clear();
    m_tier.reset(); // one at a time: each holds a gigabyte
    tier::TierOptions options;
    options.layout = layout();
    options.max_load_bytes = largest_load;
    options.threads = m_threads;
    m_tier = tier::create(tier::parse_tier_spec(spec), options, m_device);
    m_tier->prepare();
    if (!m_tier->disqualified().empty())
      throw error(error_kind::environment, m_tier->disqualified());
    m_spec = spec;
    return *m_tier;
  }

  double load(const json& request) {
    tier::Tier& tier = at(request.at("tier"));
    auto& load = m_loads[request.dump()];
    const tier::LoadShape shape{request.at("bytes"), request.at("pieces"), 1};
    if (!load) load = request.at("op") == "ideal" ? tier.ideal_load(shape) : tier.load(shape);
    if (!load) throw error(error_kind::usage, "this tier has no ideal access");
    return load->run().seconds;
  }

private:
  int m_threads;
  HostBuffer m_device;
  std::string m_spec;
  std::unique_ptr<tier::Tier> m_tier;
  std::map<std::string, std::unique_ptr<measure::Workload>> m_loads;
};

struct Shape {
  std::int64_t tokens, pieces_per_chunk;
  bool holdout;
};

/// Lengths and piece sizes of a calibration, and between them points that the fit never sees:
/// other lengths in the layout's pieces, and the calibrated lengths' neighbours in others.
std::vector<Shape> shapes(std::int64_t own) {
  std::vector<Shape> all;
  for (const std::int64_t tokens : {256, 1024, 4096, 16384, 32768})
    all.push_back({tokens, own, false});
  for (const std::int64_t tokens : {1024, 4096}) {
    all.push_back({tokens, 1, false});
    all.push_back({tokens, own * 16, false});
  }
  for (const std::int64_t tokens : {512, 768, 1536, 2816, 6144, 11264, 24576})
    all.push_back({tokens, own, true});
  for (const std::int64_t tokens : {1536, 2816, 11264})
    for (const std::int64_t pieces : {std::int64_t{1}, own / 4, own * 4, own * 16})
      all.push_back({tokens, pieces, true});
  return all;
}

json fit_errors(tier::Tier& tier, double seconds) {
  const tier::KvLayout kv = layout();
  profile::Tier row;
  row.name = tier.spec().text;
  std::vector<std::unique_ptr<measure::Workload>> loads;
  std::vector<measure::Workload*> pointers;
  for (const Shape& shape : shapes(kv.pieces_per_chunk)) {
    const std::int64_t chunks = shape.tokens / kv.chunk_tokens;
    profile::SweepPoint point;
    point.bytes = shape.tokens * kv.bytes_per_token;
    point.pieces = chunks * shape.pieces_per_chunk;
    point.holdout = shape.holdout;
    loads.push_back(tier.load(
        {static_cast<std::uint64_t>(point.bytes), static_cast<std::uint64_t>(point.pieces), 1}));
    pointers.push_back(loads.back().get());
    row.sweep.push_back(std::move(point));
  }
  measure::SamplerOptions options;
  options.max_seconds_total = seconds;
  const std::vector<measure::Series> series = measure::sample_interleaved(pointers, options);
  for (std::size_t i = 0; i < series.size(); ++i) {
    const measure::MedianInterval median = series[i].summary();
    row.sweep[i].seconds = {median.median,
                            median.lo,
                            median.hi,
                            static_cast<std::int64_t>(series[i].seconds.size()),
                            measure::to_string(series[i].stopped),
                            series[i].seconds};
  }
  fit::LoadModelOptions fit_options;
  fit_options.ceiling_Bps = tier.ceiling_Bps();
  fit_options.max_holdout_error = 10; // judged by the reader of these rows
  fit::fit_tier(row, fit_options);
  if (!row.load) throw error(error_kind::measurement, row.reason);
  const fit::LoadFit model{row.load->fixed_s.value, row.load->piece_s.value,
                           row.load->bandwidth.front().bandwidth_Bps.value};
  json answer = {{"seconds", seconds},
                 {"fixed_s", model.fixed_s},
                 {"piece_s", model.piece_s},
                 {"bandwidth_Bps", model.bandwidth_Bps}};
  for (const profile::SweepPoint& point : row.sweep) {
    const double error = model.load_s(point.bytes, point.pieces) / point.seconds.median_s - 1;
    json entry = {{"bytes", point.bytes},
                  {"pieces", point.pieces},
                  {"holdout", point.holdout},
                  {"median_s", point.seconds.median_s},
                  {"lo_s", point.seconds.lo_s},
                  {"hi_s", point.seconds.hi_s},
                  {"error", error}};
    answer["points"].push_back(entry);
    if (point.holdout) answer["errors"].push_back(std::fabs(error));
  }
  return answer;
}

} // namespace

int main(int argc, char** argv) {
  Tiers tiers(argc > 1 ? std::atoi(argv[1]) : 0);
  for (std::string line; std::getline(std::cin, line);) {
    json answer;
    try {
      const json request = json::parse(line);
      if (request.at("op") == "fit")
        answer = fit_errors(tiers.at(request.at("tier")), request.at("seconds"));
      else
        answer["seconds"] = tiers.load(request);
    } catch (const std::exception& problem) {
      answer = {{"error", problem.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
}
