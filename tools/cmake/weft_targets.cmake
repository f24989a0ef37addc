# SPDX-License-Identifier: Apache-2.0
# The functions a room declares its targets with.

string(REPLACE "," "+" sanitizers "${WEFT_SANITIZE}") # a comma would end the expression
add_library(weft_warnings INTERFACE)
add_library(weft::warnings ALIAS weft_warnings)
target_compile_options(
  weft_warnings
  INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wold-style-cast;-Wcast-qual;-Wextra-semi>"
    # g++ 12 warns about overlaps inside std::string that cannot happen (GCC bug 105651).
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wduplicated-cond;-Wlogical-op;-Wno-restrict>"
    # With sanitizers g++ loses track of initialised members (GCC manual, -fsanitize).
    "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<NOT:$<STREQUAL:${sanitizers},>>>:-Wno-maybe-uninitialized>"
    "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${WEFT_WARNINGS_AS_ERRORS}>>:-Werror>")

# A tree of sources that another tree has warned about need not do it again: it takes an eighth of the
# time of compilation.
add_library(weft_library_warnings INTERFACE)
add_library(weft::library_warnings ALIAS weft_library_warnings)
if(WEFT_LIBRARY_WARNINGS)
  target_link_libraries(weft_library_warnings INTERFACE weft::warnings)
else()
  target_compile_options(weft_library_warnings INTERFACE -w)
endif()

# In a unity build of tests a local name may be a global one of the file before it; plain builds warn
# file by file.
add_library(weft_unity_warnings INTERFACE)
target_compile_options(weft_unity_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>")

add_custom_target(weft_libraries COMMENT "All libraries of weft")
add_custom_target(weft_fuzz_targets COMMENT "The programs that search for inputs which break a reader")
add_custom_target(weft_thread_tests COMMENT "The tests that also run under ThreadSanitizer")

# In a unity build (CMAKE_UNITY_BUILD) files of one directory share compilations, ten at most.
function(weft_group_by_directory target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH directory)
    string(MAKE_C_IDENTIFIER "files_${directory}" group)
    math(EXPR ${group} "0${${group}} + 1")
    math(EXPR batch "(${${group}} - 1) / 10")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}_${batch}")
  endforeach()
endfunction()

# weft_library(<name> [INTERFACE|OBJECT] [SOURCES ...] [HEADERS ...] [PUBLIC ...] [PRIVATE ...]
#              [OBJECTS <name> ...])
#
# Target weft_<name>, alias weft::<name>. Includes read from the root of the tree
# ("sim/units/time.hpp"), here and from an installed prefix. Header-only packages under PRIVATE are
# dropped from the exported target. An OBJECT library is for files that register themselves (a linker
# drops those from an archive); OBJECTS names such libraries, and every program that links this one,
# however indirectly, gets all of their objects.
function(weft_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INTERFACE;OBJECT" ""
                        "SOURCES;HEADERS;PUBLIC;PRIVATE;OBJECTS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weft_library(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target weft_${name})

  if(arg_INTERFACE)
    add_library(${target} INTERFACE)
    set(visible INTERFACE)
  else()
    if(arg_OBJECT)
      add_library(${target} OBJECT)
    else()
      add_library(${target} STATIC)
    endif()
    set(visible PUBLIC)
    target_sources(${target} PRIVATE ${arg_SOURCES})
    weft_group_by_directory(${target} ${arg_SOURCES})
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:weft::library_warnings>)
  endif()
  add_library(weft::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${visible} cxx_std_20)
  target_sources(
    ${target} ${visible} FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${arg_HEADERS})
  set_property(TARGET ${target} PROPERTY VERIFY_INTERFACE_HEADER_SETS ON)

  target_link_libraries(${target} ${visible} ${arg_PUBLIC})
  foreach(dependency IN LISTS arg_PRIVATE)
    if(dependency IN_LIST WEFT_BUILD_ONLY_PACKAGES)
      set(dependency "$<BUILD_INTERFACE:${dependency}>")
    endif()
    target_link_libraries(${target} PRIVATE ${dependency})
  endforeach()

  foreach(objects IN LISTS arg_OBJECTS)
    target_link_libraries(${target} INTERFACE weft::${objects} $<TARGET_OBJECTS:weft::${objects}>)
  endforeach()

  add_dependencies(weft_libraries ${target})
  set_property(GLOBAL APPEND PROPERTY WEFT_LIBRARIES ${target})
endfunction()

# weft_executable(<name> [SOURCES ...] [LIBS ...]): target and program <name>, installed.
function(weft_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weft_executable(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_executable(${name} ${arg_SOURCES})
  weft_group_by_directory(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_LIBS} weft::library_warnings)
  set_property(GLOBAL APPEND PROPERTY WEFT_PROGRAMS ${name})
endfunction()

# weft_test(<name> [WHOLE] SOURCES ... [LIBS ...] [LABELS ...] [TIMEOUT seconds] [COST n])
#
# A GoogleTest program test_<name>; every TEST is a ctest of its own (with WHOLE or WEFT_WHOLE_TESTS
# the program is one), run from the root of the tree (so that "configs/..." is a path) and labelled
# <name>[.label...]. Temporary files: testing::TempDir(). COST says about how long it takes, so that
# long programs begin first. The label `threads` is for the tests that
# also run under ThreadSanitizer.
function(weft_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "WHOLE" "TIMEOUT;COST" "SOURCES;LIBS;LABELS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weft_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(NOT arg_COST)
    set(arg_COST 1)
  endif()
  set(target test_${name})
  add_executable(${target} ${arg_SOURCES})
  weft_group_by_directory(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ${arg_LIBS} GTest::gmock_main weft::warnings)
  if(CMAKE_UNITY_BUILD)
    target_link_libraries(${target} PRIVATE weft_unity_warnings) # after those that it takes back
  endif()
  if(WEFT_SANITIZE)
    # Assertions are many and run once: optimising them costs half of their compile time. The
    # libraries, where the tests' time goes, are optimised.
    target_compile_options(${target} PRIVATE -O0)
  endif()
  # One word, because the script that ctest runs does not keep lists: "sim.threads".
  list(PREPEND arg_LABELS ${name})
  list(JOIN arg_LABELS "." label)
  if(arg_WHOLE OR WEFT_WHOLE_TESTS)
    # Hundreds of short tests: to start a process for each would take most of their time.
    add_test(NAME ${name} COMMAND ${target} --gtest_brief=1 WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${arg_TIMEOUT} COST ${arg_COST})
  else()
    gtest_discover_tests(
      ${target}
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 120
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
      PROPERTIES LABELS ${label} TIMEOUT ${arg_TIMEOUT})
  endif()
  if("threads" IN_LIST arg_LABELS)
    add_dependencies(weft_thread_tests ${target})
  endif()
endfunction()

# weft_fuzz(<name> SOURCE ... [LIBS ...] CORPUS <directory>)
#
# The source defines LLVMFuzzerTestOneInput. Every build replays the corpus as the ctest
# fuzz.<name>; with WEFT_BUILD_FUZZ the program fuzz_<name> searches for new inputs.
function(weft_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;CORPUS" "LIBS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weft_fuzz(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set_property(GLOBAL APPEND PROPERTY WEFT_FUZZ_SOURCES "${name}" "${CMAKE_CURRENT_SOURCE_DIR}/${arg_SOURCE}")
  set_property(GLOBAL APPEND PROPERTY WEFT_FUZZ_LIBS ${arg_LIBS})
  if(WEFT_BUILD_FUZZ)
    add_executable(fuzz_${name} ${arg_SOURCE})
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set_property(TARGET fuzz_${name} PROPERTY UNITY_BUILD OFF)
    target_include_directories(fuzz_${name} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(fuzz_${name} PRIVATE ${arg_LIBS} weft::warnings)
    add_dependencies(weft_fuzz_targets fuzz_${name})
  endif()
  add_test(
    NAME fuzz.${name}
    COMMAND weft_replay ${name} "${arg_CORPUS}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()

# weft_fuzz_replay(<main>): after the last weft_fuzz, the program weft_replay that replays any target's
# corpus. All targets are one compilation: each by itself reads the same headers again.
function(weft_fuzz_replay main)
  get_property(sources GLOBAL PROPERTY WEFT_FUZZ_SOURCES)
  get_property(libraries GLOBAL PROPERTY WEFT_FUZZ_LIBS)
  list(REMOVE_DUPLICATES libraries)
  set(code "")
  set(table "")
  while(sources)
    list(POP_FRONT sources name source)
    string(APPEND code "#define LLVMFuzzerTestOneInput replay_${name}\n#include \"${source}\"\n"
           "#undef LLVMFuzzerTestOneInput\n")
    string(APPEND table "    {\"${name}\", replay_${name}},\n")
  endwhile()
  file(CONFIGURE OUTPUT replay_targets.cpp CONTENT "${code}
#include \"${main}\"

const std::vector<ReplayTarget> replay_targets{
${table}};
" @ONLY)
  add_executable(weft_replay "${CMAKE_CURRENT_BINARY_DIR}/replay_targets.cpp")
  set_property(TARGET weft_replay PROPERTY UNITY_BUILD OFF)
  target_include_directories(weft_replay PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(weft_replay PRIVATE ${libraries} weft::warnings)
endfunction()

# weft_bench(<name> SOURCES ... [LIBS ...]): program bench_<name> on Google Benchmark, with
# WEFT_BUILD_BENCH only.
function(weft_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weft_bench(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(WEFT_BUILD_BENCH)
    add_executable(bench_${name} ${arg_SOURCES})
    target_include_directories(bench_${name} PRIVATE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(bench_${name} PRIVATE ${arg_LIBS} benchmark::benchmark_main weft::warnings)
  endif()
endfunction()
