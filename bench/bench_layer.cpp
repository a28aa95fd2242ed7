// One layer of llama-3.2-1b and llama-3.1-8b with its attention; items are tokens.
#include "compute_cases.hpp"

#include <benchmark/benchmark.h>

static void layer(benchmark::State& state, const breakeven::bench::ModelDims& dims) {
  auto model = breakeven::bench::architecture(dims);
  model.kinds[0].count = 1;
  model.vocabulary.size = 1024; // next to nothing beside the layer
  breakeven::compute::ComputeOptions options;
  options.threads = 2;
  options.max_context_tokens = 8192;
  breakeven::compute::CpuCompute compute(model, options);
  const auto step = compute.step(state.range(0), state.range(1));
  step->run();
  for (auto _ : state)
    step->run();
  state.SetItemsProcessed(state.iterations() * state.range(1));
  state.SetLabel(compute.facts().kernel_source);
}
BENCHMARK_CAPTURE(layer, llama_3_2_1b, breakeven::bench::llama_3_2_1b)
    ->ArgNames({"context", "new"})
    ->ArgsProduct({{0, 8192}, {128, 512, 2048}})
    ->UseRealTime();
BENCHMARK_CAPTURE(layer, llama_3_1_8b, breakeven::bench::llama_3_1_8b)
    ->ArgNames({"context", "new"})
    ->ArgsProduct({{0, 8192}, {128, 512}})
    ->UseRealTime();
BENCHMARK_MAIN();
