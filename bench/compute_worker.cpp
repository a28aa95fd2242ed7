// Our side of scripts/bench: reads one JSON request a line, runs the work once, answers with its
// seconds. Work is built on first use and kept, so that requests may alternate with a peer's.
//   {"op": "attention", "heads": 32, "kv_heads": 8, "dim": 64, "context": 8192, "new": 512}
//   {"op": "gemm" | "gemm_raw", "k": 2048, "n": 3072, "rows": 512}
//   {"op": "step", "model": "llama-3.2-1b", "context": 0, "new": 512}

#include "compute_cases.hpp"
#include "support/error.hpp"

#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#if BREAKEVEN_HAVE_ONEDNN
#include <dnnl.hpp>
#include <omp.h>
#endif

namespace {
using nlohmann::json;
using namespace breakeven;
using Work = std::function<double()>; ///< returns seconds

double timed(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Work attention(const json& r, int threads) {
  auto c = std::make_shared<bench::AttentionCase>(r.at("heads"), r.at("kv_heads"), r.at("dim"),
                                                  r.at("context"), r.at("new"), threads);
  return [c] { return timed([&] { c->run(); }); };
}

Work gemm(const json& r, int threads) {
  auto c = std::make_shared<bench::GemmCase>(r.at("k"), r.at("n"), r.at("rows"), threads);
  return [c] { return timed([&] { c->run(); }); };
}

#if BREAKEVEN_HAVE_ONEDNN
/// The library by itself: its own choice of weight layout for exactly these rows, its own memory.
Work raw_gemm(const json& r, int threads) {
  using dnnl::memory;
  omp_set_num_threads(threads);
  const std::int64_t k = r.at("k"), n = r.at("n"), rows = r.at("rows");
  const auto type = memory::data_type::bf16;
  const auto plain = memory::format_tag::ab;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::desc x({rows, k}, type, plain), w({k, n}, type, memory::format_tag::any),
      out({rows, n}, type, plain);
  const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(x, w, out), engine);
  const dnnl::matmul matmul(desc);
  const memory mx(x, engine), mw(desc.weights_desc(), engine), mo(out, engine),
      source({{k, n}, type, plain}, engine);
  const auto& kernels = *compute::usable_kernels(compute::Element::bf16).front();
  compute::fill_random(kernels, mx.get_data_handle(), rows * k, 1, 1.0F, threads);
  compute::fill_random(kernels, source.get_data_handle(), k * n, 2, 1.0F, threads);
  dnnl::stream stream(engine);
  memory to = mw, from = source;
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  return [=]() mutable {
    return timed([&] {
      matmul.execute(stream, {{DNNL_ARG_SRC, mx}, {DNNL_ARG_WEIGHTS, mw}, {DNNL_ARG_DST, mo}});
      stream.wait();
    });
  };
}
#endif

const bench::ModelDims& dims(const std::string& name) {
  for (const bench::ModelDims* d : {&bench::llama_3_2_1b, &bench::llama_3_1_8b})
    if (name == d->name) return *d;
  throw error(error_kind::usage, "unknown model '" + name + "'");
}

/// All layers of the model, each with weights of its own.
compute::CpuCompute& whole_model(const std::string& name, int threads) {
  static std::map<std::string, std::unique_ptr<compute::CpuCompute>> models;
  auto& model = models[name];
  if (!model) {
    compute::ComputeOptions options;
    options.threads = threads;
    options.max_context_tokens = 16384;
    options.measured_layers = dims(name).layers;
    options.full_depth = true;
    model = std::make_unique<compute::CpuCompute>(bench::architecture(dims(name)), options);
  }
  return *model;
}

Work step(const json& r, int threads) {
  std::shared_ptr<measure::Workload> workload =
      whole_model(r.at("model"), threads).step(r.at("context"), r.at("new"));
  return [workload] { return workload->run().seconds; };
}

Work make(const json& r, int threads) {
  const std::string op = r.at("op");
  if (op == "attention") return attention(r, threads);
  if (op == "gemm") return gemm(r, threads);
#if BREAKEVEN_HAVE_ONEDNN
  if (op == "gemm_raw" && !compute::usable_kernels(compute::Element::bf16).empty())
    return raw_gemm(r, threads);
#endif
  if (op == "step") return step(r, threads);
  throw error(error_kind::environment, "this build or CPU has no '" + op + "'");
}

} // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  std::map<std::string, Work> works;
  for (std::string line; std::getline(std::cin, line);) {
    json answer;
    try {
      if (works.size() > 2) works.clear(); // bounded memory: a row uses one or two
      auto& work = works[line];
      if (!work) work = make(json::parse(line), threads);
      answer["seconds"] = work();
    } catch (const std::exception& e) {
      answer["error"] = e.what();
    }
    std::cout << answer.dump() << std::endl;
  }
}
