#pragma once

#include "cuda/runtime/check.hpp"

#include <array>
#include <cstddef>
#include <type_traits>

namespace breakeven::cuda {

struct LaunchShape {
  dim3 grid{1};
  dim3 block{1};
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

/// Launches through the table of CUDA calls. Arguments must have the kernel's parameter types.
/// Throws error::environment when the launch is refused; faults show at the next wait.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape,
            std::type_identity_t<Parameters>... arguments) {
  std::array<void*, sizeof...(Parameters)> addresses{static_cast<void*>(&arguments)...};
  const auto* address = reinterpret_cast<const void*>(kernel);
  check(calls().launch_kernel(address, shape.grid, shape.block, addresses.data(),
                              shape.shared_bytes, shape.stream),
        "starting a kernel");
}

} // namespace breakeven::cuda
