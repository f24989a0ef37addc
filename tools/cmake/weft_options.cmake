# SPDX-License-Identifier: Apache-2.0
# What a user of the build can choose, and the flags that follow from it.

option(WEFT_BUILD_TESTS "Build the tests (GoogleTest)" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_BUILD_BENCH "Build the benchmarks (Google Benchmark)" OFF)
option(WEFT_BUILD_FUZZ "Build the libFuzzer targets (clang only)" OFF)
option(WEFT_WARNINGS_AS_ERRORS "Treat warnings of weft's own sources as errors" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_LIBRARY_WARNINGS "Warn about weft's libraries and programs; tests always warn" ON)
option(WEFT_WHOLE_TESTS "Run each test program as one test: fewer processes, no choice among tests" OFF)
option(WEFT_INSTALL "Generate the install rules" ${PROJECT_IS_TOP_LEVEL})
set(WEFT_CUDA AUTO CACHE STRING "Build the CUDA kernels: AUTO (when nvcc is found), ON or OFF")
set_property(CACHE WEFT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(WEFT_SANITIZE "" CACHE STRING "Sanitizers of the whole tree: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET default)

include(GNUInstallDirs)

# The accelerators of a build on a small machine: used when they are there, never needed.
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(WEFT_CCACHE ccache)
    if(WEFT_CCACHE)
      set(CMAKE_CXX_COMPILER_LAUNCHER "${WEFT_CCACHE}")
    endif()
  endif()
  find_program(WEFT_MOLD mold)
  if(WEFT_MOLD)
    include(CheckLinkerFlag)
    check_linker_flag(CXX -fuse-ld=mold WEFT_LINKER_IS_MOLD)
    if(WEFT_LINKER_IS_MOLD)
      add_link_options("$<$<LINK_LANGUAGE:CXX>:-fuse-ld=mold>")
    endif()
  endif()
endif()

if(WEFT_SANITIZE)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${WEFT_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
  add_link_options("$<$<LINK_LANGUAGE:CXX>:-fsanitize=${WEFT_SANITIZE}>")
  if(WEFT_SANITIZE MATCHES "undefined")
    # Checks of each access by pointer double the time of compilation, and AddressSanitizer stops at
    # what they would find.
    add_compile_options(
      "$<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,alignment,vptr,object-size,pointer-overflow>")
  endif()
endif()
