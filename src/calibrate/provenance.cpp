#include "calibrate/provenance.hpp"

#include <Eigen/Core>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace breakeven::calibrate {

profile::Node describe_node(const node::NodeFacts& facts) {
  profile::Node node;
  node.cpu_model = facts.cpu_model;
  node.os = facts.os;
  node.kernel = facts.kernel;
  node.hypervisor = facts.hypervisor;
  node.governor = facts.governor;
  node.fingerprint = facts.fingerprint;
  node.logical_cpus = facts.logical_cpus;
  node.usable_cpus = facts.usable_cpus;
  node.numa_nodes = facts.numa_nodes;
  node.memory_bytes = static_cast<std::int64_t>(facts.memory_bytes);
  node.memory_limit_bytes = static_cast<std::int64_t>(facts.memory_limit_bytes);
  node.last_level_cache_bytes = static_cast<std::int64_t>(facts.last_level_cache_bytes);
  node.cpu_features = facts.cpu_features;
  node.libraries = {{"eigen", fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                                          EIGEN_MINOR_VERSION)},
                    {"compiler", __VERSION__}};
  return node;
}

profile::Model describe_model(const Plan& plan) {
  const model::Architecture& from = plan.architecture;
  profile::Model model;
  model.name = from.name;
  model.family = from.family;
  model.source = from.source;
  model.parameters = from.parameters;
  model.active_parameters = from.active_parameters;
  for (const model::LayerKind& kind : from.kinds)
    model.layer_kinds.push_back({kind.name, kind.count});
  model.kv_dtype = model::to_string(from.kv_dtype);
  model.kv_bytes_per_token = from.full_bytes_per_token() + from.index_bytes_per_token();
  for (const model::WindowTerm& term : model::window_terms(from))
    model.kv_windows.push_back({term.window_tokens, term.bytes_per_token});
  model.state_bytes = from.state_bytes();
  // Engines save a recurrent state where they end a stored chunk; anywhere else there is none to
  // load.
  model.checkpoint_tokens = from.is_hybrid() ? plan.layout.chunk_tokens : 0;
  model.tensor_parallel = from.tensor_parallel;
  model.chunk_tokens = plan.request.chunk_tokens;
  model.block_tokens = plan.request.block_tokens;
  model.overrides = from.overrides;
  model.assumptions = from.assumptions;
  return model;
}

profile::Tool describe_tool(const Plan& plan) {
  profile::Tool tool;
  tool.version = BREAKEVEN_VERSION;
  tool.revision = BREAKEVEN_REVISION;
  tool.argv = plan.request.argv;
  tool.started_utc = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return tool;
}

} // namespace breakeven::calibrate
