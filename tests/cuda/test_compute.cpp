#include "compute/layer.hpp"
#include "cuda/compute/cuda_compute.hpp"
#include "cuda/fake_lt.hpp"
#include "support/catch.hpp"
#include "support/error.hpp"

#include <algorithm>
#include <cstdlib>

using namespace breakeven;
using namespace breakeven::cuda;
using Catch::Contains;

// Orchestration against fakes: shapes, memory bounds, errors and leaks. Numbers come from a GPU.

namespace {

compute::ComputeOptions small_options() {
  compute::ComputeOptions options;
  options.max_context_tokens = 4096;
  options.chunk_tokens = 512;
  return options;
}

void run_all(CudaCompute& compute) {
  const std::int64_t chunk = compute.options().chunk_tokens;
  const std::int64_t context = compute.options().max_context_tokens;
  compute.dense(1)->run();
  compute.dense(chunk)->run();
  compute.step(context, chunk)->run();
  compute.step(0, 3)->run();
  for (std::size_t kind = 0; kind < compute.architecture().kinds.size(); ++kind)
    for (const std::int64_t tokens : {std::int64_t{1}, chunk})
      if (const auto workload = compute.attention(kind, context, tokens)) workload->run();
}

/// Flop of a dense pass without attention and LM head, by the architecture's own GEMM list.
double dense_flop(const model::Architecture& a, std::int64_t tokens) {
  double flop = 0;
  for (const model::LayerKind& kind : a.kinds)
    flop += compute::dense_flop_per_token(kind, a.hidden) * static_cast<double>(tokens) *
            static_cast<double>(kind.count);
  return flop;
}

} // namespace

TEST_CASE("Every bundled model runs within its memory or says what is missing") {
  std::size_t ran = 0;
  for (const std::string& name : model::bundled_models()) {
    FakeCuda fake;
    fake.imaginary_memory = true;
    fake.memory_bytes = std::uint64_t{140} << 30;
    {
      const FakeLt lt(fake);
      INFO(name);
      try {
        CudaCompute compute("cuda:0", model::read_architecture(name), small_options(), {});
        run_all(compute);
        ++ran;
        CHECK(lt.products() > 0);
        CHECK(fake.count("graph_launch") > 0);
      } catch (const error& e) {
        CHECK(e.kind() == error_kind::environment);
        UNSCOPED_INFO(e.what());
        CHECK_THAT(e.what(), Contains("the cuda device cannot run layers") || Contains("memory"));
      }
      CHECK(lt.fault() == "");
      CHECK(lt.alive() == 0);
    }
    CHECK(fake.alive() == 0);
  }
  CHECK(2 * ran > model::bundled_models().size()); // more than half
}

TEST_CASE("A pass multiplies what the architecture says") {
  for (const std::string name : {"llama-3.2-1b", "qwen3-30b-a3b", "deepseek-v3"}) {
    const auto models = model::bundled_models();
    if (std::find(models.begin(), models.end(), name) == models.end()) continue;
    INFO(name);
    FakeCuda fake;
    fake.imaginary_memory = true;
    fake.memory_bytes = std::uint64_t{500} << 30;
    const FakeLt lt(fake);
    compute::ComputeOptions options = small_options();
    options.full_depth = true;
    const model::Architecture architecture = model::read_architecture(name);
    CudaCompute compute("cuda:0", architecture, options, {});
    const auto workload = compute.dense(256);
    workload->run(); // the fake counts the pass twice: once unrecorded, once recorded
    const double head = 2.0 * 2.0 * static_cast<double>(architecture.hidden) *
                        static_cast<double>(architecture.vocabulary.size);
    CHECK((lt.flop() - head) / 2 == Approx(dense_flop(architecture, 256)).epsilon(1e-9));
  }
}

TEST_CASE("The tool finds GPUs by number and by UUID, and says why it cannot") {
  FakeCuda fake;
  fake.device_count = 2;
  const FakeLt lt(fake);
  CHECK(compute::resolve_device("auto") == "cuda:0");
  CHECK(compute::resolve_device("cuda:1") == "cuda:1");
  const std::string uuid = "cuda:" + visible_devices()[1].uuid;
  CHECK(compute::resolve_device(uuid) == uuid);
  CHECK(open_device(uuid).id == "cuda:1");
  CHECK_THROWS_WITH(compute::resolve_device("cuda:7"), Contains("no device 'cuda:7' here"));
  fake.fail_always("get_device_count", cudaErrorNoDevice);
  try {
    static_cast<void>(compute::resolve_device("cuda:0"));
    FAIL("nothing was thrown");
  } catch (const error& e) {
    CHECK(e.kind() == error_kind::environment);
    CHECK_THAT(e.what(), Contains("no GPU is visible to CUDA"));
  }
}

TEST_CASE("The facts say which kernels ran") {
  FakeCuda fake;
  fake.imaginary_memory = true;
  const FakeLt lt(fake);
  const model::Architecture architecture = model::read_architecture("llama-3.2-1b");
  const CudaCompute compute("cuda:0", architecture, small_options(), {});
  CHECK(compute.facts().id == "cuda:0");
  CHECK(compute.facts().kernel_source ==
        "cublasLt 13.1.0 (heuristic, 32 MiB workspace) + builtin flash attention sm_90");
  CHECK(compute.facts().compute_dtype == "bf16");
  CHECK(compute.facts().peak_memory_Bps == Approx(4.917e12).epsilon(0.001)); // H200's clocks
  CudaSettings tuned;
  tuned.gemm = GemmMode::autotuned;
  const CudaCompute other("cuda:0", architecture, small_options(), tuned);
  CHECK_THAT(other.facts().kernel_source, Contains("autotuned"));
}

TEST_CASE("fp8 models run in fp8 where the GPU can, and say so where it cannot") {
  model::Architecture architecture = model::read_architecture("llama-3.2-1b");
  architecture.weight_dtype = model::DType::fp8;
  FakeCuda fake;
  fake.imaginary_memory = true;
  const FakeLt lt(fake);
  {
    CudaCompute compute("cuda:0", architecture, small_options(), {});
    CHECK(compute.facts().compute_dtype == "fp8 e4m3");
    run_all(compute);
    CHECK(lt.fault() == "");
  }
  fake.properties.major = 8;
  const CudaCompute compute("cuda:0", architecture, small_options(), {});
  CHECK(compute.facts().compute_dtype == "bf16");
  const std::vector<std::string> warnings = compute.warnings();
  CHECK(std::any_of(warnings.begin(), warnings.end(), [](const std::string& sentence) {
    return sentence.find("no fp8 tensor cores") != std::string::npos;
  }));
}

TEST_CASE("Nothing leaks whichever call fails") {
  const model::Architecture architecture = model::read_architecture("llama-3.2-1b");
  const auto attempt = [&](FakeCuda& fake) {
    fake.imaginary_memory = true;
    const FakeLt lt(fake);
    bool failed = false;
    try {
      CudaCompute compute("cuda:0", architecture, small_options(), {});
      compute.dense(7)->run();
      compute.kv_buffer(1 << 20);
    } catch (const error& e) {
      failed = true;
      CHECK(e.kind() == error_kind::environment);
    }
    CHECK(lt.alive() == 0);
    return failed;
  };
  SECTION("out of memory on each allocation") {
    std::int64_t nth = 1;
    for (bool failed = true; failed; ++nth) {
      FakeCuda fake;
      fake.fail("malloc", cudaErrorMemoryAllocation, nth);
      failed = attempt(fake);
      CHECK(fake.alive() == 0);
      CHECK(fake.pending() == cudaSuccess);
    }
    CHECK(nth > 20);
  }
  SECTION("a fault in the middle of the work") {
    for (const char* name :
         {"stream_create", "launch_kernel", "stream_synchronize", "stream_begin_capture",
          "stream_end_capture", "graph_instantiate", "graph_launch", "event_create", "event_record",
          "event_synchronize", "func_set_attribute", "mem_get_info"}) {
      INFO(name);
      FakeCuda fake;
      fake.fail_always(name, cudaErrorIllegalAddress);
      const bool reached = attempt(fake);
      CHECK((reached || fake.count(name) == 0));
      CHECK(fake.alive() == 0);
    }
  }
}

TEST_CASE("cublasLt that has no algorithm, or fails, is named") {
  FakeCuda fake;
  fake.imaginary_memory = true;
  FakeLt lt(fake);
  const model::Architecture architecture = model::read_architecture("llama-3.2-1b");
  CudaCompute compute("cuda:0", architecture, small_options(), {});
  lt.has_algorithm = false;
  CHECK_THROWS_WITH(compute.dense(5)->run(), Contains("cublasLt has no bf16 algorithm"));
  lt.has_algorithm = true;
  lt.matmul_status = CUBLAS_STATUS_EXECUTION_FAILED;
  CHECK_THROWS_WITH(compute.dense(5)->run(), Contains("cublasLt failed while multiplying"));
}

TEST_CASE("Choices of algorithms are kept, and none is made while a graph is recorded") {
  FakeCuda fake;
  fake.imaginary_memory = true;
  const FakeLt lt(fake);
  CudaCompute compute("cuda:0", model::read_architecture("llama-3.2-1b"), small_options(), {});
  compute.dense(64)->run();
  const std::int64_t choices = lt.choices();
  CHECK(choices == 5); // qkv, output, gate_up, down, head
  compute.dense(64)->run();
  CHECK(lt.choices() == choices);
}

TEST_CASE("Lengths beyond what was set up, and unusable providers, are refused") {
  FakeCuda fake;
  fake.imaginary_memory = true;
  const FakeLt lt(fake);
  const model::Architecture architecture = model::read_architecture("llama-3.2-1b");
  CudaCompute compute("cuda:0", architecture, small_options(), {});
  CHECK_THROWS_AS(compute.dense(513), error);
  CHECK_THROWS_AS(compute.step(4097, 1), error);
  CHECK_THROWS_AS(compute.attention(9, 0, 1), error);
  CudaSettings settings;
  settings.attention = "flash";
  CHECK_THROWS_WITH(CudaCompute("cuda:0", architecture, small_options(), settings),
                    Contains("unknown attention provider 'flash'"));
}

TEST_CASE("Settings come from the environment") {
  REQUIRE(setenv("BREAKEVEN_CUDA_GEMM", "autotuned", 1) == 0);
  REQUIRE(setenv("BREAKEVEN_CUDA_ATTENTION", "builtin", 1) == 0);
  CHECK(CudaSettings::from_environment().gemm == GemmMode::autotuned);
  CHECK(CudaSettings::from_environment().attention == "builtin");
  REQUIRE(setenv("BREAKEVEN_CUDA_GEMM", "fast", 1) == 0);
  CHECK_THROWS_WITH(CudaSettings::from_environment(), Contains("heuristic or autotuned"));
  unsetenv("BREAKEVEN_CUDA_GEMM");
  unsetenv("BREAKEVEN_CUDA_ATTENTION");
}

TEST_CASE("Throttled samples are marked, and a power limit is told") {
  FakeCuda fake;
  fake.imaginary_memory = true;
  fake.pci_bus_id = "0000:3B:00.0"; // the first GPU of the fake NVML
  const FakeLt lt(fake);
  CudaSettings settings;
  settings.nvml_library = BREAKEVEN_FAKE_NVML;
  CudaCompute compute("cuda:0", model::read_architecture("llama-3.2-1b"), small_options(),
                      settings);
  const auto workload = compute.dense(64);
  CHECK_FALSE(workload->run().throttled); // at its power limit only
  REQUIRE(setenv("BREAKEVEN_FAKE_NVML", "hot", 1) == 0);
  CHECK(workload->run().throttled);
  unsetenv("BREAKEVEN_FAKE_NVML");
  CHECK_THAT(compute.warnings().back(), Contains("at its power limit in 2 of 2 samples"));
}

TEST_CASE("A GPU that NVML does not show is used without being watched") {
  FakeCuda fake;
  fake.imaginary_memory = true;
  const FakeLt lt(fake);
  CudaSettings settings;
  settings.nvml_library = "libnothing-of-the-kind.so";
  CudaCompute compute("cuda:0", model::read_architecture("llama-3.2-1b"), small_options(),
                      settings);
  CHECK_FALSE(compute.dense(64)->run().throttled);
  CHECK_THAT(compute.warnings().back(), Contains("were not watched"));
}
