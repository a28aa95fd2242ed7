// Attention of one layer with 32 query and 8 KV heads; items are flop.
#include "compute_cases.hpp"

#include <benchmark/benchmark.h>

static void attention(benchmark::State& state) {
  const std::int64_t dim = state.range(0), context = state.range(1), tokens = state.range(2);
  breakeven::bench::AttentionCase c(32, 8, dim, context, tokens, 2);
  double pairs = c.run();
  for (auto _ : state)
    pairs = c.run();
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(4.0 * pairs) * dim);
  state.SetLabel(c.kernels.name);
}
BENCHMARK(attention)
    ->ArgNames({"dim", "context", "new"})
    ->ArgsProduct({{64, 128}, {0, 2048, 8192, 16384}, {512}})
    ->UseRealTime();
BENCHMARK_MAIN();
