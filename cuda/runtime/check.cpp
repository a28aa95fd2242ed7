#include "cuda/runtime/check.hpp"

#include "support/error.hpp"

namespace breakeven::cuda {
namespace {

std::string advice(cudaError_t code) {
  switch (code) {
  case cudaErrorMemoryAllocation:
    return "free memory on the device (other processes show in nvidia-smi), or choose a smaller "
           "model, context or chunk";
  case cudaErrorInsufficientDriver:
  case cudaErrorNoDevice:
  case cudaErrorInvalidDevice:
    return "check the driver with nvidia-smi, and CUDA_VISIBLE_DEVICES";
  case cudaErrorNoKernelImageForDevice:
    return "this build has no code for this GPU: build with -DBREAKEVEN_CUDA_ARCHITECTURES=...";
  case cudaErrorUnsupportedPtxVersion:
    return "the driver is older than this build's CUDA toolkit: update it";
  case cudaErrorDevicesUnavailable:
    return "another process holds the GPU exclusively (compute mode in nvidia-smi)";
  case cudaErrorNotPermitted:
  case cudaErrorOperatingSystem:
    return "the system refused: check container limits and device permissions";
  default:
    return is_sticky(code) ? "the device context is lost: start again, and report it if it repeats"
                           : "check the device with nvidia-smi";
  }
}

} // namespace

std::string describe(cudaError_t code) {
  return std::string(cudaGetErrorName(code)) + " (" + std::to_string(static_cast<int>(code)) +
         "): " + cudaGetErrorString(code);
}

bool is_sticky(cudaError_t code) noexcept {
  switch (code) {
  case cudaErrorIllegalAddress:
  case cudaErrorLaunchTimeout:
  case cudaErrorHardwareStackError:
  case cudaErrorIllegalInstruction:
  case cudaErrorMisalignedAddress:
  case cudaErrorInvalidAddressSpace:
  case cudaErrorInvalidPc:
  case cudaErrorLaunchFailure:
  case cudaErrorAssert:
  case cudaErrorECCUncorrectable:
    return true;
  default:
    return false;
  }
}

void check(cudaError_t code, const std::string& doing) {
  if (code == cudaSuccess) return;
  if (!is_sticky(code)) static_cast<void>(calls().get_last_error());
  throw error(error_kind::environment,
              "CUDA failed while " + doing + ": " + describe(code) + "; " + advice(code));
}

bool succeeded(cudaError_t code) noexcept {
  if (code == cudaSuccess) return true;
  static_cast<void>(calls().get_last_error());
  return false;
}

} // namespace breakeven::cuda
