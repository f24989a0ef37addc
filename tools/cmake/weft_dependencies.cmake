# SPDX-License-Identifier: Apache-2.0
# Every package the build looks for. Each has its line in tools/packages.txt.

find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(CLI11 2.1 REQUIRED)
find_package(ZLIB 1.2 REQUIRED)
find_package(pugixml 1.13 REQUIRED)
find_package(SQLite3 3.40 REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)

if(WEFT_BUILD_TESTS)
  find_package(GTest 1.12 REQUIRED)
endif()
if(WEFT_BUILD_BENCH)
  find_package(benchmark 1.7 REQUIRED)
endif()

# Header-only packages that only .cpp files see: an installed weft does not need them.
set(WEFT_BUILD_ONLY_PACKAGES nlohmann_json::nlohmann_json CLI11::CLI11 Eigen3::Eigen Boost::boost
                             Boost::headers)

# CUDA is optional: without nvcc WEFT_HAVE_CUDA is false and kernels/ is left out.
set(WEFT_HAVE_CUDA OFF)
if(NOT WEFT_CUDA STREQUAL "OFF")
  find_program(WEFT_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  if(WEFT_NVCC)
    if(NOT DEFINED CMAKE_CUDA_COMPILER)
      set(CMAKE_CUDA_COMPILER "${WEFT_NVCC}")
    endif()
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      # Hopper with its arch-specific instructions (wgmma, TMA), and Ampere.
      set(CMAKE_CUDA_ARCHITECTURES "80-real;90a-real")
    endif()
    enable_language(CUDA)
    set(CMAKE_CUDA_STANDARD 20)
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      # CMake 3.25 does not know that nvcc 12 and later have this dialect.
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    find_package(CUDAToolkit REQUIRED)
    set(WEFT_HAVE_CUDA ON)
  elseif(WEFT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "WEFT_CUDA=ON, but there is no nvcc on PATH, in CUDA_HOME or /usr/local/cuda")
  endif()
endif()
