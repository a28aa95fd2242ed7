# The CUDA back end: cuda/ is the only folder that nvcc sees. The CUDA runtime is linked statically
# and everything else (cublasLt, cuDNN, the driver) is loaded at run time, so that the tool starts
# on machines that have none of it.
set(BREAKEVEN_ENABLE_CUDA_USED FALSE)
if(NOT BREAKEVEN_ENABLE_CUDA STREQUAL "OFF")
  set(breakeven_cuda_host_was_set ${CMAKE_CUDA_HOST_COMPILER})
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES OFF) # each target says its own
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET)
    if(TARGET CUDA::cudart_static AND CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.0)
      set(BREAKEVEN_ENABLE_CUDA_USED TRUE)
    endif()
  endif()
  if(BREAKEVEN_ENABLE_CUDA STREQUAL "ON" AND NOT BREAKEVEN_ENABLE_CUDA_USED)
    message(FATAL_ERROR "BREAKEVEN_ENABLE_CUDA=ON but no CUDA toolkit of version 12 or newer was found "
                        "(nvcc on PATH, or -DCMAKE_CUDA_COMPILER=...)")
  endif()
endif()
message(STATUS "BREAKEVEN_ENABLE_CUDA: ${BREAKEVEN_ENABLE_CUDA} -> ${BREAKEVEN_ENABLE_CUDA_USED}")

if(BREAKEVEN_ENABLE_CUDA_USED)
  # One real binary each; PTX of the oldest serves GPUs that are not in the list.
  set(default_architectures 80 86-real 89-real 90a-real)
  if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
    list(APPEND default_architectures 100-real 120-real)
  endif()
  set(BREAKEVEN_CUDA_ARCHITECTURES "${default_architectures}" CACHE STRING
    "CUDA architectures; one (90a) builds several times faster")
endif()
