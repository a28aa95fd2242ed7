// Whole steps of llama-3.2-1b from sampled layers, by the time that calibration would record.
#include "compute_cases.hpp"

#include <benchmark/benchmark.h>

static void step(benchmark::State& state) {
  static breakeven::compute::CpuCompute compute(
      breakeven::bench::architecture(breakeven::bench::llama_3_2_1b), {});
  const auto workload = compute.step(state.range(0), state.range(1));
  workload->run();
  for (auto _ : state)
    state.SetIterationTime(workload->run().seconds);
  state.SetItemsProcessed(state.iterations() * state.range(1));
  state.SetLabel(compute.facts().kernel_source);
}
BENCHMARK(step)
    ->ArgNames({"context", "new"})
    ->ArgsProduct({{0, 8192, 32768}, {128, 512, 2048}})
    ->UseManualTime();
BENCHMARK_MAIN();
