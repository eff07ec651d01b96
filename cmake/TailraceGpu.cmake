# TAILRACE_GPU_NUMBER: for what the kernels of devices are compiled. 0: there are none; 1: the processor, which shows on
# any machine that they are right; 2: NVIDIA's devices, by CUDA.
if(TAILRACE_GPU STREQUAL "OFF")
  set(TAILRACE_GPU_NUMBER 0)
elseif(TAILRACE_GPU STREQUAL "HOST")
  set(TAILRACE_GPU_NUMBER 1)
elseif(TAILRACE_GPU STREQUAL "CUDA")
  set(TAILRACE_GPU_NUMBER 2)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90 CACHE STRING "Devices to compile for: 80 (A100), 90 (H100, H200), ...")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "TAILRACE_GPU=CUDA, but CMake found no nvcc. To fix this, load CUDA's module or set CUDACXX to nvcc, or "
      "configure with -DTAILRACE_GPU=OFF.")
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  find_package(CUDAToolkit 12.1 REQUIRED) # kernels have more than 4 KB of parameters from there on
else()
  message(FATAL_ERROR "TAILRACE_GPU=${TAILRACE_GPU} is unknown. To fix this, choose OFF, HOST or CUDA.")
endif()
