// GEMM shapes of llama-3.2-1b and llama-3.1-8b; items are flop.
#include "compute_cases.hpp"

#include <benchmark/benchmark.h>

static void gemm(benchmark::State& state) {
  breakeven::bench::GemmCase c(state.range(0), state.range(1), state.range(2), 2);
  c.run();
  for (auto _ : state)
    c.run();
  state.SetItemsProcessed(state.iterations() * 2 * state.range(0) * state.range(1) *
                          state.range(2));
  state.SetLabel(c.gemm->description());
}
BENCHMARK(gemm)
    ->ArgNames({"k", "n", "rows"})
    ->ArgsProduct({{2048}, {2048, 3072, 16384}, {128, 512, 2048}})
    ->ArgsProduct({{8192}, {2048}, {128, 512, 2048}})
    ->ArgsProduct({{4096}, {4096, 6144, 28672}, {128, 512}})
    ->UseRealTime();
BENCHMARK_MAIN();
