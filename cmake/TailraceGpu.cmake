# TAILRACE_GPU_NUMBER: for what the kernels of devices are compiled. 0: there are none; 1: the processor, which shows on
# any machine that they are right; 2: NVIDIA's devices, by CUDA.
if(TAILRACE_GPU STREQUAL "OFF")
  set(TAILRACE_GPU_NUMBER 0)
elseif(TAILRACE_GPU STREQUAL "HOST")
  set(TAILRACE_GPU_NUMBER 1)
elseif(TAILRACE_GPU STREQUAL "CUDA")
  set(TAILRACE_GPU_NUMBER 2)
  if(NOT CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES 80 90 CACHE STRING "Devices to compile for: 80 (A100), 90 (H100, H200), ...")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "TAILRACE_GPU=CUDA, but CMake found no nvcc. To fix this, load CUDA's module or set CUDACXX to nvcc, or "
      "configure with -DTAILRACE_GPU=OFF.")
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # of nvcc 12 and later, which older CMake does not know
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.1)
    message(FATAL_ERROR "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is too old for TAILRACE_GPU=CUDA. To fix this, load CUDA 12.1 or later.")
  endif()
  # Not find_package(CUDAToolkit): that of older CMake does not find CUDA 13.
  find_library(TAILRACE_CUFFT cufft HINTS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES} ${CMAKE_CUDA_HOST_IMPLICIT_LINK_DIRECTORIES})
  if(NOT TAILRACE_CUFFT)
    message(FATAL_ERROR "There is no libcufft beside ${CMAKE_CUDA_COMPILER}. To fix this, install cuFFT, or give its path with "
      "-DTAILRACE_CUFFT=...")
  endif()
else()
  message(FATAL_ERROR "TAILRACE_GPU=${TAILRACE_GPU} is unknown. To fix this, choose OFF, HOST or CUDA.")
endif()
