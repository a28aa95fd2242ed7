// Times our GEMM and attention on the shapes that scripts/gpu_check compares with torch, and prints
// JSON: {"device", "gemm", "attention", "rows": [{"name", "seconds", "flop"}]}. Medians of device
// time after a second of continuous work.
#include "cuda/compute/cuda_compute.hpp"
#include "cuda/kernels/fill.hpp"
#include "support/error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

namespace {

using namespace breakeven;
using namespace breakeven::cuda;

/// Median seconds of one run of `work`: about one second of warm-up, then samples of `repeat` runs.
double median_s(Stream& stream, const std::function<void()>& work) {
  Event start, end;
  const auto time = [&](int repeat) {
    start.record(stream.get());
    for (int i = 0; i < repeat; ++i)
      work();
    end.record(stream.get());
    end.synchronize();
    return seconds_between(start, end);
  };
  time(1);
  const double once = std::max(time(3) / 3, 1e-6);
  const int repeat = static_cast<int>(std::clamp(0.01 / once, 1.0, 200.0));
  for (double busy = 0; busy < 1.0;)
    busy += time(repeat);
  std::vector<double> samples;
  for (int i = 0; i < 15; ++i)
    samples.push_back(time(repeat) / repeat);
  std::nth_element(samples.begin(), samples.begin() + 7, samples.end());
  return samples[7];
}

DeviceMemory random(std::int64_t count, std::uint64_t seed, Stream& stream) {
  DeviceMemory memory(2 * static_cast<std::uint64_t>(count), "operands");
  fill_random(memory.data(), static_cast<std::uint64_t>(count), seed, 1.0F, stream.get());
  return memory;
}

/// Four copies of the weights in turn, so that L2 does not serve them.
nlohmann::ordered_json time_gemm(Gemm& gemm, Stream& stream, std::int64_t rows, std::int64_t k,
                                 std::int64_t n) {
  constexpr std::int64_t copies = 4;
  const DeviceMemory x = random(rows * k, 1, stream), w = random(copies * n * k, 2, stream),
                     out = random(rows * n, 3, stream);
  GemmCall call;
  call.x = x.data();
  call.out = out.data();
  call.rows = rows;
  call.k = k;
  call.n = n;
  std::int64_t turn = 0;
  const double seconds = median_s(stream, [&] {
    call.weights = w.data() + 2 * static_cast<std::uint64_t>(turn++ % copies * n * k);
    gemm.run(call);
  });
  return {{"name", "gemm/" + std::to_string(rows) + "x" + std::to_string(k) + "x" +
                       std::to_string(n)},
          {"seconds", seconds},
          {"flop", 2.0 * static_cast<double>(rows * k * n)}};
}

nlohmann::ordered_json time_attention(AttentionProvider& provider, Stream& stream, int heads,
                                      int kv_heads, int dim, int context, int queries) {
  const std::int64_t keys = context + queries;
  const DeviceMemory q = random(std::int64_t{queries} * heads * dim, 1, stream),
                     k = random(keys * kv_heads * dim, 2, stream),
                     v = random(keys * kv_heads * dim, 3, stream),
                     out = random(std::int64_t{queries} * heads * dim, 4, stream);
  AttentionCall call;
  call.q = q.data();
  call.k = k.data();
  call.v = v.data();
  call.out = out.data();
  call.q_token = call.out_token = heads * dim;
  call.k_token = call.v_token = kv_heads * dim;
  call.q_head = call.k_head = call.v_head = call.out_head = dim;
  call.heads = heads;
  call.kv_heads = kv_heads;
  call.qk_dim = call.v_dim = dim;
  call.scale = 1.0F / std::sqrt(static_cast<float>(dim));
  call.mask.context = context;
  call.mask.queries = queries;
  call.stream = stream.get();
  const DeviceMemory workspace(provider.workspace_bytes(call), "splits");
  const double seconds = median_s(stream, [&] { provider.run(call, workspace.data()); });
  const double pairs = static_cast<double>(queries) * context +
                       0.5 * static_cast<double>(queries) * (queries + 1);
  return {{"name", "attention/" + std::to_string(heads) + "x" + std::to_string(kv_heads) + "x" +
                       std::to_string(dim) + "/" + std::to_string(context) + "+" +
                       std::to_string(queries)},
          {"seconds", seconds},
          {"flop", 4.0 * heads * dim * pairs}};
}

void run() {
  const CudaDevice device = open_device("cuda");
  const CudaSettings settings = CudaSettings::from_environment();
  Stream stream;
  Gemm gemm(settings.gemm, stream.get());
  const auto provider = make_attention(device, settings.attention);
  nlohmann::ordered_json document{{"device", device.name},
                                  {"gemm", gemm.description()},
                                  {"attention", provider->description()},
                                  {"rows", nlohmann::ordered_json::array()}};
  auto& rows = document["rows"];
  for (const std::int64_t tokens : {128, 2048, 8192}) // of llama-3.1-8b
    for (const auto& [k, n] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
             {4096, 6144}, {4096, 28672}, {14336, 4096}})
      rows.push_back(time_gemm(gemm, stream, tokens, k, n));
  for (const auto& [context, queries] :
       std::initializer_list<std::pair<int, int>>{{0, 2048}, {8192, 2048}, {65536, 2048}, {0, 8192}, {65536, 64}})
    rows.push_back(time_attention(*provider, stream, 32, 8, 128, context, queries));
  rows.push_back(time_attention(*provider, stream, 24, 8, 64, 8192, 2048));
  std::puts(document.dump(1).c_str());
}

} // namespace

int main() {
  try {
    run();
    return 0;
  } catch (const breakeven::error& e) {
    std::fprintf(stderr, "breakeven_gpu_times: %s\n", e.what());
    return e.exit_code();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "breakeven_gpu_times: %s\n", e.what());
    return 5;
  }
}
