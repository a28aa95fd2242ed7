#pragma once

#include "cuda/runtime/calls.hpp"

#include <string>

namespace breakeven::cuda {

/// "cudaErrorMemoryAllocation (2): out of memory": needs no driver.
std::string describe(cudaError_t code);

/// True for errors after which every further call of the process fails (a kernel that faulted).
bool is_sticky(cudaError_t code) noexcept;

/// Throws error::environment when `code` is not success: what this program was doing ("allocating
/// 1.0 GiB on cuda:0"), what CUDA says and what to do. Clears the error unless it is sticky, so
/// that the next call is not blamed for it.
void check(cudaError_t code, const std::string& doing);

/// As check(), without building a sentence while all is well.
inline void check(cudaError_t code, const char* doing) {
  if (code != cudaSuccess) check(code, std::string(doing));
}

/// For refusals that the caller handles: true on success; otherwise forgets the error.
bool succeeded(cudaError_t code) noexcept;

} // namespace breakeven::cuda
