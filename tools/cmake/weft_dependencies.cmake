# SPDX-License-Identifier: Apache-2.0
# Every package the build looks for. Each has its line in tools/packages.txt.

find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(CLI11 2.1 REQUIRED)

if(WEFT_BUILD_TESTS)
  find_package(GTest 1.12 REQUIRED)
endif()
if(WEFT_BUILD_BENCH)
  find_package(benchmark 1.7 REQUIRED)
endif()

# Header-only packages that only .cpp files see: an installed weft does not need them.
set(WEFT_BUILD_ONLY_PACKAGES nlohmann_json::nlohmann_json CLI11::CLI11 Eigen3::Eigen Boost::boost
                             Boost::headers)
