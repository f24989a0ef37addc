# SPDX-License-Identifier: Apache-2.0
# Installs the build tree WEFT_BUILD under WORK, then configures, builds and runs the consumer
# against it.
foreach(variable IN ITEMS WEFT_BUILD WORK GENERATOR COMPILER BUILD_TYPE)
  if(NOT DEFINED ${variable})
    message(FATAL_ERROR "run.cmake needs -D${variable}=...")
  endif()
endforeach()

file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")

function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

step("${CMAKE_COMMAND}" --install "${WEFT_BUILD}" --prefix "${prefix}" --config "${BUILD_TYPE}")
step("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK}/build" -G "${GENERATOR}"
     "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
     "-DCMAKE_PREFIX_PATH=${prefix}")
step("${CMAKE_COMMAND}" --build "${WORK}/build" --config "${BUILD_TYPE}")
step("${WORK}/build/consumer")
