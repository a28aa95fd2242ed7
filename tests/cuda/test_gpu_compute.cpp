#include "cuda/compute/cuda_compute.hpp"
#include "cuda/gpu.hpp"

using namespace breakeven;
using namespace breakeven::cuda;

TEST_CASE("A small model's prefill runs and takes time", "[gpu]") {
  BREAKEVEN_NEEDS_GPU();
  if (!cublaslt_missing().empty()) {
    WARN("skipped: " << cublaslt_missing());
    return;
  }
  compute::ComputeOptions options;
  options.max_context_tokens = 8192;
  options.chunk_tokens = 1024;
  CudaCompute compute("cuda", model::read_architecture("llama-3.2-1b"), options,
                      CudaSettings::from_environment());
  CHECK(compute.dense(1024)->run().seconds > 0);
  CHECK(compute.step(8192, 1024)->run().seconds > 0);
  CHECK(compute.step(0, 1)->run().seconds > 0);
  CHECK(compute.attention(0, 8192, 1024)->run().seconds > 0);
  const std::vector<std::byte> in(1 << 20, std::byte{7});
  std::vector<std::byte> out(in.size());
  compute::DeviceBuffer& buffer = compute.kv_buffer(4 << 20);
  buffer.copy_in(1000, in.data(), in.size());
  buffer.synchronize();
  buffer.copy_out(1000, out.data(), out.size());
  CHECK(in == out);
}
