#pragma once

#include "support/catch.hpp"

#include "fleet/fleet.hpp"
#include "measure/statistics.hpp"
#include "support/sample_file.hpp"

#include <cstdio>

namespace breakeven::test {

/// A node like the sample file, whose times differ by a few per mille, times `compute` and `load`.
inline fleet::Node node_of(int index, double compute = 1, double load = 1) {
  measure::Random random(static_cast<std::uint64_t>(index) + 77);
  const auto jitter = [&] { return 1 + 0.01 * (random.uniform() - 0.5); };
  fleet::Node node;
  char name[32];
  std::snprintf(name, sizeof name, "node%04d.json", index);
  node.name = name;
  node.file = sample_file();
  const auto scale = [](profile::Measurement& m, double by) {
    m.median_s *= by;
    m.lo_s *= by;
    m.hi_s *= by;
    for (double& sample : m.samples_s)
      sample *= by;
  };
  const double of_node = jitter();
  for (profile::Measurement& m : node.file.prefill.dense.seconds)
    scale(m, compute * of_node);
  for (auto& row : node.file.prefill.attention[0].seconds)
    for (profile::Measurement& m : row)
      scale(m, compute * of_node);
  profile::Tier& tier = node.file.tiers[0];
  const auto times = [](profile::Estimate& e, double by) {
    e = {e.value * by, e.lo * by, e.hi * by};
  };
  times(tier.load->fixed_s, load * jitter());
  times(tier.load->piece_s, load * jitter());
  for (profile::BandwidthPoint& point : tier.load->bandwidth)
    times(point.bandwidth_Bps, jitter() / load);
  tier.identity = {{"drive", "fast drive"}, {"pcie_width", "x4"}};
  node.file.node.numa_nodes = 2;
  node.file.node.kernel = "6.1";
  return node;
}

inline fleet::Fleet fleet_of(int nodes) {
  fleet::Fleet fleet;
  for (int i = 0; i < nodes; ++i)
    fleet.nodes.push_back(node_of(i));
  return fleet;
}

} // namespace breakeven::test
