#include "cuda/copy/copy_kernels.hpp"

#include "cuda/kernels/launch.hpp"

#include <algorithm>

namespace breakeven::cuda {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned units_per_block = block_threads / lanes_per_unit;
/// Blocks that read host memory: 32 x 16 KiB under way at once, several times what a PCIe 5.0 x16
/// link holds (64 GB/s x about 2 us).
constexpr unsigned few_blocks = 32;
constexpr unsigned blocks_per_multiprocessor = 4;

template <class Work>
__global__ void __launch_bounds__(block_threads) copy_kernel(Work work, std::uint64_t units) {
  const unsigned lane = threadIdx.x % lanes_per_unit;
  const std::uint64_t step = std::uint64_t{gridDim.x} * units_per_block;
  for (std::uint64_t unit =
           std::uint64_t{blockIdx.x} * units_per_block + threadIdx.x / lanes_per_unit;
       unit < units; unit += step)
    copy_unit(work, unit, lane);
}

template <class Work>
void start(const Work& work, std::uint64_t units, CopySpread spread, int multiprocessors,
           cudaStream_t stream) {
  if (units == 0) return;
  const auto most =
      spread == CopySpread::few
          ? few_blocks
          : blocks_per_multiprocessor * static_cast<unsigned>(std::max(multiprocessors, 1));
  const auto blocks = static_cast<unsigned>(
      std::min<std::uint64_t>((units + units_per_block - 1) / units_per_block, most));
  launch(copy_kernel<Work>, {dim3(blocks), dim3(block_threads), 0, stream}, work, units);
}

} // namespace

void start_copy(const ItemsWork& work, std::uint64_t units, CopySpread spread, int multiprocessors,
                cudaStream_t stream) {
  start(work, units, spread, multiprocessors, stream);
}

void start_copy(const SlotsWork& work, std::uint64_t units, CopySpread spread, int multiprocessors,
                cudaStream_t stream) {
  start(work, units, spread, multiprocessors, stream);
}

const void* items_kernel_address() {
  return reinterpret_cast<const void*>(&copy_kernel<ItemsWork>);
}

const void* slots_kernel_address() {
  return reinterpret_cast<const void*>(&copy_kernel<SlotsWork>);
}

} // namespace breakeven::cuda
