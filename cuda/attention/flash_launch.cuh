#pragma once

#include "cuda/attention/flash_kernel.cuh"
#include "cuda/kernels/launch.hpp"

namespace breakeven::cuda {

template <int QK, int V, int WarpRows, int Keys>
void launch_flash(const FlashParameters& parameters) {
  using Kernel = FlashKernel<QK, V, WarpRows, Keys>;
  const AttentionCall& call = parameters.call;
  void (*kernel)(FlashParameters) = flash_kernel<QK, V, WarpRows, Keys>;
  check(calls().func_set_attribute(reinterpret_cast<const void*>(kernel),
                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   Kernel::shared_bytes),
        "preparing the attention kernel");
  LaunchShape shape;
  shape.grid = dim3(static_cast<unsigned>((call.mask.queries + Kernel::rows - 1) / Kernel::rows),
                    static_cast<unsigned>(call.heads), static_cast<unsigned>(parameters.splits));
  shape.block = dim3(Kernel::threads);
  shape.shared_bytes = Kernel::shared_bytes;
  shape.stream = call.stream;
  launch(kernel, shape, parameters);
}

} // namespace breakeven::cuda
